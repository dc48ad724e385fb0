#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_

#include "ops/cuda/attention_dense_params.cuh"

// The instances of the kernel that the back end uses, and the steps of RunDense that the checking
// program shares.
namespace lingbot::ops::cuda::dense {

using LaunchFunction = void (*)(const Params& params, int ctas, cudaStream_t stream);

// Rows of a K/V tile; the maps of DenseExtents carry it. The largest whose scores, twice, fit into
// 240 registers a thread beside output, queries and probabilities.
inline constexpr int kKvTile64 = 112;
inline constexpr int kKvTile128 = 80;

void LaunchRunningMax64(const Params& params, int ctas, cudaStream_t stream);
void LaunchScaled64(const Params& params, int ctas, cudaStream_t stream);
void LaunchUnit64(const Params& params, int ctas, cudaStream_t stream);
void LaunchRunningMax128(const Params& params, int ctas, cudaStream_t stream);
void LaunchScaled128(const Params& params, int ctas, cudaStream_t stream);
void LaunchUnit128(const Params& params, int ctas, cudaStream_t stream);

inline constexpr int kMaxSplits = 16;

Exponent ChooseExponent(const DensePlan& plan, const DenseInput& input);
LaunchFunction FindLaunch(int head_dim, Exponent exponent);
int ChooseSplits(int64_t works, int64_t kv_tiles, int multiprocessors);
void SetSplits(int splits, int multiprocessors, DensePlan* plan);

// Whether this build carries the kernels' sm_90a code for the current device.
bool HasHopperCode();

Params MakeParams(const DensePlan& plan, const DenseInput& input, void* out, void* workspace);
void RunWith(LaunchFunction launch, const DensePlan& plan, const DenseInput& input, void* out,
             void* workspace, cudaStream_t stream);

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
