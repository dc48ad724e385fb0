#include "ops/cuda/check.h"

#include "base/check.h"

namespace lingbot::ops::cuda {

void FailCuda(cudaError_t status, const char* call) {
  const ErrorCode code = status == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory
                         : status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
                                 status == cudaErrorNoKernelImageForDevice
                             ? ErrorCode::kUnavailable
                             : ErrorCode::kInternal;
  Fail(code, "CUDA call {} failed: {} ({})", call, cudaGetErrorString(status),
       cudaGetErrorName(status));
}

void FailLibrary(const char* library, const char* message) {
  Fail(ErrorCode::kInternal, "{} failed: {}", library, message);
}

void FailLibrary(const char* library, int status) {
  Fail(ErrorCode::kInternal, "{} failed with status {}", library, status);
}

}  // namespace lingbot::ops::cuda
