#ifndef LINGBOT_OPS_CUDA_CHECK_H_
#define LINGBOT_OPS_CUDA_CHECK_H_

#include <cuda_runtime_api.h>

// Free of base/check.h and its formatting library, which nvcc cannot compile.
namespace lingbot::ops::cuda {

// Throws lingbot::Error naming `call` and CUDA's own words: kOutOfMemory where memory ran out,
// kUnavailable where the device or driver is missing or too old, kInternal otherwise.
void CheckCuda(cudaError_t status, const char* call = "a CUDA call");

// After a kernel launch: reports what the launch itself refused (and any earlier fault of the
// device).
void CheckLaunch(const char* kernel);

// What CheckCuda throws with, and the like for libraries that explain themselves in words or by a
// number.
[[noreturn]] void FailCuda(cudaError_t status, const char* call);
[[noreturn]] void FailLibrary(const char* library, const char* message);
[[noreturn]] void FailLibrary(const char* library, int status);

// Throws kInternal: `launcher` was called with something (a type, a size) that it has no kernel
// for.
[[noreturn]] void FailUnsupported(const char* launcher, const char* what);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_CHECK_H_
