#include <algorithm>

#include "ops/cuda/attention_dense_internal.h"
#include "ops/cuda/attention_dense_work.cuh"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda::dense {
namespace {

// --------------------------------------------------------

constexpr int kMergeThreads = 256;

// Grid (works, groups of rows); a thread makes four columns of one row, adding the parts in order,
// so that the sum is the same in every run.
template <int kHeadDim>
__global__ void __launch_bounds__(kMergeThreads)
    Merge(const __grid_constant__ Params params, int kv_tile) {
  constexpr int kRowThreads = kHeadDim / 4;
  const DenseExtents& extents =
      params.device_extents != nullptr ? *params.device_extents : params.extents;
  const Tiles tiles(extents.rows, kv_tile);
  const WorkItem item(params, blockIdx.x);
  const int row = blockIdx.y * (kMergeThreads / kRowThreads) + threadIdx.x / kRowThreads;
  const int token = item.q_begin + row;
  if (token >= params.q_tokens) return;
  const int column = threadIdx.x % kRowThreads * 4;
  const float* parts =
      params.parts + static_cast<int64_t>(blockIdx.x) * params.splits * PartFloats(kHeadDim);
  float max = -INFINITY;
  for (int share = 0; share < params.splits; ++share) {
    if (Segment(blockIdx.x, share, params.splits, tiles.count).IsEmpty()) continue;
    const float* part = parts + share * PartFloats(kHeadDim);
    max = fmaxf(max, part[kQTile * (kHeadDim + 1) + row]);
  }
  float sum = 0.0f;
  float4 out = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int share = 0; share < params.splits; ++share) {
    if (Segment(blockIdx.x, share, params.splits, tiles.count).IsEmpty()) continue;
    const float* part = parts + share * PartFloats(kHeadDim);
    const float factor = exp2f(part[kQTile * (kHeadDim + 1) + row] - max);
    const float4 o = *reinterpret_cast<const float4*>(part + row * kHeadDim + column);
    sum += factor * part[kQTile * kHeadDim + row];
    out.x += factor * o.x;
    out.y += factor * o.y;
    out.z += factor * o.z;
    out.w += factor * o.w;
  }
  const float inverse = 1.0f / sum;
  __nv_bfloat162* to = reinterpret_cast<__nv_bfloat162*>(
      params.out +
      ((static_cast<int64_t>(item.batch) * params.q_tokens + token) * params.heads + item.head) *
          kHeadDim +
      column);
  to[0] = __floats2bfloat162_rn(out.x * inverse, out.y * inverse);
  to[1] = __floats2bfloat162_rn(out.z * inverse, out.w * inverse);
}

template <int kHeadDim>
void LaunchMergeOf(const Params& params, const DensePlan& plan, cudaStream_t stream) {
  constexpr int kRows = kMergeThreads / (kHeadDim / 4);
  const int row_groups = (std::min(plan.shape.q_tokens, kQTile) + kRows - 1) / kRows;
  Merge<kHeadDim>
      <<<dim3(params.works, row_groups), kMergeThreads, 0, stream>>>(params, plan.kv_tile);
  CheckLaunch("dense attention merge");
}

}  // namespace

void LaunchMerge(const Params& params, const DensePlan& plan, cudaStream_t stream) {
  if (plan.shape.head_dim == 64) {
    LaunchMergeOf<64>(params, plan, stream);
  } else {
    LaunchMergeOf<128>(params, plan, stream);
  }
}

}  // namespace lingbot::ops::cuda::dense
