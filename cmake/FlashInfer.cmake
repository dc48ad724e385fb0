# FlashInfer's headers, with the CUTLASS and libcu++ that they were written against; no library.
# scripts/setup.sh --cuda unpacks them. Defines lingbot_flashinfer and sets
#   LINGBOT_FLASHINFER_FOUND  whether the adapters can be compiled
set(LINGBOT_FLASHINFER AUTO CACHE STRING "FlashInfer attention back ends: AUTO, ON or OFF")
set_property(CACHE LINGBOT_FLASHINFER PROPERTY STRINGS AUTO ON OFF)
set(LINGBOT_FLASHINFER_DIR ${PROJECT_SOURCE_DIR}/.deps/flashinfer CACHE PATH
    "Folder with include/, cutlass/include/ and libcudacxx/include/")

set(LINGBOT_FLASHINFER_FOUND FALSE)
if(LINGBOT_FLASHINFER)
  set(missing "")
  foreach(header include/flashinfer/attention/hopper/prefill_sm90.cuh
                 cutlass/include/cute/tensor.hpp libcudacxx/include/cuda/cmath)
    if(NOT EXISTS ${LINGBOT_FLASHINFER_DIR}/${header})
      list(APPEND missing ${header})
    endif()
  endforeach()
  if(NOT missing)
    set(LINGBOT_FLASHINFER_FOUND TRUE)
  elseif(NOT LINGBOT_FLASHINFER STREQUAL "AUTO")
    message(FATAL_ERROR "FlashInfer is not in ${LINGBOT_FLASHINFER_DIR} (missing: ${missing}): "
                        "run scripts/setup.sh --cuda, or set LINGBOT_FLASHINFER=OFF")
  endif()
endif()
if(LINGBOT_FLASHINFER_FOUND)
  message(STATUS "FlashInfer: ${LINGBOT_FLASHINFER_DIR}")
  add_library(lingbot_flashinfer INTERFACE)
  target_include_directories(lingbot_flashinfer SYSTEM INTERFACE
    ${LINGBOT_FLASHINFER_DIR}/include ${LINGBOT_FLASHINFER_DIR}/cutlass/include)
  # Not as a system folder: it must come before the older libcu++ of the toolkit.
  target_compile_options(lingbot_flashinfer INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-I${LINGBOT_FLASHINFER_DIR}/libcudacxx/include;-use_fast_math;--expt-relaxed-constexpr>")
  target_compile_definitions(lingbot_flashinfer INTERFACE NDEBUG)
else()
  message(STATUS "FlashInfer: not found or off; attention back ends without it")
endif()
