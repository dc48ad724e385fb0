#include "ops/cuda/attention_fa3_kernel.cuh"

namespace lingbot::ops::cuda {

void LaunchFa3HeadDim64(const Fa3Launch& launch, CudaStream stream) {
  Fa3Kernel<64>::Launch(launch, stream);
}

}  // namespace lingbot::ops::cuda
