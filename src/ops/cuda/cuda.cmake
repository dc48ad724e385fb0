# The CUDA back end: launchers, libraries' calls and device code.
include(cuda/kernels.cmake)
include(cuda/attention_fi.cmake)
include(cuda/dense.cmake)
set(LINGBOT_CUDA_SOURCES
    ${LINGBOT_CUDA_OPERATOR_SOURCES} ${LINGBOT_CUDA_ATTENTION_SOURCES}
    ${LINGBOT_CUDA_ATTENTION_OBJECTS} ${LINGBOT_CUDA_DENSE_SOURCES}
    cuda/attention_state.cc cuda/backend.cc cuda/memory_kernels.cu cuda/state.cc)
list(REMOVE_DUPLICATES LINGBOT_CUDA_SOURCES)
set(LINGBOT_CUDA_LIBRARIES CUDA::cublas CUDA::cublasLt CUDA::cudart_static lingbot_cudnn)
