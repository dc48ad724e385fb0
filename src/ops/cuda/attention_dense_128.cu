#include "ops/cuda/attention_dense_internal.h"
#include "ops/cuda/attention_dense_kernel.cuh"

namespace lingbot::ops::cuda::dense {
namespace {

using RunningMax = Config<128, kKvTile128, Exponent::kRunningMax, false, true>;
using Scaled = Config<128, kKvTile128, Exponent::kScaled, false, true>;
using Unit = Config<128, kKvTile128, Exponent::kUnit, false, false>;

}  // namespace

void LaunchRunningMax128(const Params& params, int ctas, cudaStream_t stream) {
  Launch<RunningMax>(params, ctas, stream);
}

void LaunchScaled128(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Scaled>(params, ctas, stream);
}

void LaunchUnit128(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Unit>(params, ctas, stream);
}

}  // namespace lingbot::ops::cuda::dense
