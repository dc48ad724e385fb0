#ifndef LINGBOT_OPS_CUDA_CHECK_H_
#define LINGBOT_OPS_CUDA_CHECK_H_

#include <cuda_runtime_api.h>

namespace lingbot::ops::cuda {

// Throws an Error that names the call and gives CUDA's own words.
[[noreturn]] void FailCuda(cudaError_t status, const char* call);

// The same for a library that explains itself in words or by a number.
[[noreturn]] void FailLibrary(const char* library, const char* message);
[[noreturn]] void FailLibrary(const char* library, int status);

// CheckCuda(cudaMemcpyAsync(...), "cudaMemcpyAsync"): throws unless the call succeeded.
inline void CheckCuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    FailCuda(status, call);
  }
}

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_CHECK_H_
