#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_LAUNCH_CUH_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_LAUNCH_CUH_

#include "ops/cuda/attention_dense_kernel.cuh"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda::dense {

template <class C>
void Launch(const Params& params, int ctas, cudaStream_t stream) {
  CheckCuda(
      cudaFuncSetAttribute(Kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes),
      "cudaFuncSetAttribute of the dense attention kernel");
  Kernel<C><<<ctas, kThreads, C::kSharedBytes, stream>>>(params);
  CheckLaunch("dense attention");
}

using LaunchFunction = void (*)(const Params& params, int ctas, cudaStream_t stream);

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_LAUNCH_CUH_
