#include "ops/cuda/attention_dense_internal.h"

namespace lingbot::ops::cuda::dense {

void LaunchNoMax64(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Config<64, kKvTile64, false>>(params, ctas, stream);
}

void LaunchRunningMax64(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Config<64, kKvTile64, true>>(params, ctas, stream);
}

bool HasHopperCode() {
  // Other architectures' bodies are a trap that needs next to no registers.
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, Kernel<Config<64, kKvTile64, true>>) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.numRegs > 64;
}

}  // namespace lingbot::ops::cuda::dense
