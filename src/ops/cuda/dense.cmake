# C++17: nvcc cannot evaluate the compile-time checks that the formatting library has in C++20.
add_library(lingbot_attention_dense OBJECT
  cuda/attention_dense.cu cuda/attention_dense_64.cu cuda/attention_dense_128.cu)
target_include_directories(lingbot_attention_dense PRIVATE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(lingbot_attention_dense PRIVATE fmt::fmt CUDA::cudart_static)
set_target_properties(lingbot_attention_dense PROPERTIES CUDA_STANDARD 17)
set(LINGBOT_CUDA_DENSE_SOURCES $<TARGET_OBJECTS:lingbot_attention_dense>)
