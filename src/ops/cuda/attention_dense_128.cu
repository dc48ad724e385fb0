#include "ops/cuda/attention_dense_internal.h"

namespace lingbot::ops::cuda::dense {

void LaunchNoMax128(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Config<128, kKvTile128, false>>(params, ctas, stream);
}

void LaunchRunningMax128(const Params& params, int ctas, cudaStream_t stream) {
  Launch<Config<128, kKvTile128, true>>(params, ctas, stream);
}

}  // namespace lingbot::ops::cuda::dense
