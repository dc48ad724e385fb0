#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_

#include <cuda_bf16.h>

#include "ops/cuda/attention_dense.h"

// The instances of the kernel that the back end uses, and the steps of RunDense that the checking
// program shares.
namespace lingbot::ops::cuda::dense {

inline constexpr int kQTile = 128;
inline constexpr int kWarpgroups = 2;
inline constexpr int kThreads = 128 * (1 + kWarpgroups);

// How the exponentials' arguments are made of the scores.
//   kRunningMax: scaled, the row's maximum so far subtracted. Right for any scores.
//   kScaled: scaled. Right where the scores are bounded.
//   kUnit: the scores themselves. Queries carry the scale already.
enum class Exponent { kRunningMax, kScaled, kUnit };

struct Params {
  DenseExtents extents;                // used where device_extents is null
  const DenseExtents* device_extents;  // in device memory
  const __nv_bfloat16* q;
  __nv_bfloat16* out;  // [batches, q_tokens, heads, head_dim]
  float* parts;        // [works, splits, PartFloats]; only where splits > 1
  int64_t q_token_stride;
  int64_t q_batch_stride;
  int q_tokens;
  int heads;
  int q_tiles;
  int works;         // batches * heads * q_tiles
  float scale_log2;  // softmax scale * log2(e)
  float zero;        // 0; see ExpBlock
  int splits;        // shares of the K/V tiles of a work item
};

// A part: output sums [kQTile, head_dim], row sums [kQTile], row maxima in log2 units [kQTile].
constexpr int PartFloats(int head_dim) { return kQTile * (head_dim + 2); }

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

// Adds up the parts of every work item; where splits > 1.
void LaunchMerge(const Params& params, const DensePlan& plan, cudaStream_t stream);

// Whether this build carries the kernels' sm_90a code for the current device.
bool HasHopperCode();

Params MakeParams(const DensePlan& plan, const DenseInput& input, void* out, void* workspace);
void RunWith(LaunchFunction launch, const DensePlan& plan, const DenseInput& input, void* out,
             void* workspace, cudaStream_t stream);

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
