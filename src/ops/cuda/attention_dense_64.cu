#include "ops/cuda/attention_dense_internal.h"
#include "ops/cuda/attention_dense_kernel.cuh"

namespace lingbot::ops::cuda::dense {
namespace {

using RunningMax = Config<64, kKvTile64, Exponent::kRunningMax, false, true>;
using Scaled = Config<64, kKvTile64, Exponent::kScaled, false, true>;
using Unit = Config<64, kKvTile64, Exponent::kUnit, true, false>;

}  // namespace

void LaunchRunningMax64(const Params& params, int ctas, cudaStream_t stream) {
  Launch<RunningMax>(params, ctas, stream);
}

void LaunchScaled64(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Scaled>(params, ctas, stream);
}

void LaunchUnit64(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Unit>(params, ctas, stream);
}

bool HasHopperCode() {
  // Other architectures' bodies are a trap that needs next to no registers.
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, Kernel<RunningMax>) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.numRegs > 64;
}

}  // namespace lingbot::ops::cuda::dense
