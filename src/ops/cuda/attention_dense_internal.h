#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_

#include "ops/cuda/attention_dense_launch.cuh"

// The instances of the kernel that the back end uses, and the steps of RunDense that the checking
// program shares.
namespace lingbot::ops::cuda::dense {

// Rows of a K/V tile; the maps of DenseExtents carry it.
inline constexpr int kKvTile64 = 96;
inline constexpr int kKvTile128 = 64;

void LaunchNoMax64(const Params& params, int ctas, cudaStream_t stream);
void LaunchRunningMax64(const Params& params, int ctas, cudaStream_t stream);
void LaunchNoMax128(const Params& params, int ctas, cudaStream_t stream);
void LaunchRunningMax128(const Params& params, int ctas, cudaStream_t stream);

// Whether this build carries the kernels' sm_90a code for the current device.
bool HasHopperCode();

Params MakeParams(const DensePlan& plan, const DenseInput& input, void* out, void* workspace);
void RunWith(LaunchFunction launch, const DensePlan& plan, const DenseInput& input, void* out,
             void* workspace, cudaStream_t stream);

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_INTERNAL_H_
