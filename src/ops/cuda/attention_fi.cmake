# The paged, fallback and entry attention of the CUDA build. Include it where CUDA is enabled; then
#   LINGBOT_CUDA_ATTENTION_SOURCES  sources (absolute) for the library that holds the launchers
#   LINGBOT_CUDA_ATTENTION_OBJECTS  objects of the heavy kernels, to be listed among its sources
# The library needs CUDA::cudart and CUDA::cublas. The .cu files are C++17: CMake 3.22 knows no later one for
# CUDA, and fmt checks its formats in a way that nvcc rejects, so text is made in .cc files.
include(FlashInfer)

set(LINGBOT_CUDA_ATTENTION_SOURCES "")
foreach(source attention_entry.cc attention_entry_kernel.cu attention_merge.cu attention_plan.cc attention_sdpa.cc
               attention_sdpa_kernels.cu attention_flashinfer_unavailable.cc check.cc
               flashinfer_checks.cc staged_ints.cc)
  list(APPEND LINGBOT_CUDA_ATTENTION_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${source})
endforeach()
set(LINGBOT_CUDA_ATTENTION_OBJECTS "")
set(built "")

# lingbot_attention_kernels(NAME SOURCES a.cu ... ARCHITECTURES list): heavy kernels, one a source.
function(lingbot_attention_kernels name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ARCHITECTURES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE lingbot_flashinfer CUDA::cudart_static)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 17
                        CUDA_ARCHITECTURES "${ARG_ARCHITECTURES}")
endfunction()

if(LINGBOT_FLASHINFER_FOUND)
  lingbot_attention_kernels(lingbot_attention_fa2
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_fa2_kernels.cu
    ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  list(APPEND LINGBOT_CUDA_ATTENTION_SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_fa2.cc)
  list(APPEND LINGBOT_CUDA_ATTENTION_OBJECTS $<TARGET_OBJECTS:lingbot_attention_fa2>)
  list(APPEND built LINGBOT_HAS_FA2)
  # wgmma exists in sm_90a code only.
  if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90a")
    lingbot_attention_kernels(lingbot_attention_fa3
      SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_fa3_hd64.cu
              ${CMAKE_CURRENT_LIST_DIR}/attention_fa3_hd128.cu
      ARCHITECTURES 90a-real)
    list(APPEND LINGBOT_CUDA_ATTENTION_SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_fa3.cc)
    list(APPEND LINGBOT_CUDA_ATTENTION_OBJECTS $<TARGET_OBJECTS:lingbot_attention_fa3>)
    list(APPEND built LINGBOT_HAS_FA3)
  endif()
endif()
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/attention_flashinfer_unavailable.cc
                            PROPERTIES COMPILE_DEFINITIONS "${built}")
