#include "ops/cuda/check.h"

#include "base/check.h"

namespace lingbot::ops::cuda {
namespace {

ErrorCode CodeOf(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::kOutOfMemory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorDevicesUnavailable:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

void CheckCuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) [[unlikely]] {
    FailCuda(status, call);
  }
}

void FailCuda(cudaError_t status, const char* call) {
  Fail(CodeOf(status), "CUDA: {} failed with {} ({})", call, cudaGetErrorName(status),
       cudaGetErrorString(status));
}

void CheckLaunch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  Fail(CodeOf(status), "CUDA: launching the {} kernel failed with {} ({})", kernel,
       cudaGetErrorName(status), cudaGetErrorString(status));
}

void FailLibrary(const char* library, const char* message) {
  Fail(ErrorCode::kInternal, "{} failed: {}", library, message);
}

void FailLibrary(const char* library, int status) {
  Fail(ErrorCode::kInternal, "{} failed with status {}", library, status);
}

void FailUnsupported(const char* launcher, const char* what) {
  Fail(ErrorCode::kInternal, "CUDA: {} has no kernel for {}", launcher, what);
}

}  // namespace lingbot::ops::cuda
