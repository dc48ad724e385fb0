#ifndef LINGBOT_OPS_CUDA_LAUNCH_CUH_
#define LINGBOT_OPS_CUDA_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <utility>

#include "ops/cuda/check.h"

// Launches that overlap with the end of the kernel before: from compute capability 9.0 on, a kernel
// may be set up, and prefetch what nobody writes, while its predecessor in the stream drains. That
// hides most of the gap between two short kernels.
namespace lingbot::ops::cuda {

// First statement of every kernel that LaunchKernel starts, on all paths: nothing that an earlier
// kernel reads or writes may be touched before it returns.
__device__ inline void WaitForPrevious() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Lets the next kernel start; it still waits for this one's end before it touches memory.
__device__ inline void ReleaseNext() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

inline int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

template <typename... Parameters, typename... Arguments>
void LaunchKernel(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                  size_t shared, cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = DeviceAttribute(cudaDevAttrComputeCapabilityMajor) >= 9 ? 1 : 0;
  const cudaError_t status =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  if (status != cudaSuccess) FailCuda(status, name);
}

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_LAUNCH_CUH_
