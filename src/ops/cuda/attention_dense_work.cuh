#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_WORK_CUH_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_WORK_CUH_

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "ops/cuda/attention_dense_internal.h"

// The kinds of kernels, and how the work is divided among CTAs.
namespace lingbot::ops::cuda::dense {

// kSumByMma: rows of P are summed by the wgmma that multiplies by V, which gets a column of ones.
// kChain: see ExpBlock.
template <int kHeadDim_, int kKvTile_, Exponent kExponent_, bool kSumByMma_, bool kChain_>
struct Config {
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kKvTile = kKvTile_;
  static constexpr Exponent kExponent = kExponent_;
  static constexpr bool kRunningMax = kExponent_ == Exponent::kRunningMax;
  static constexpr bool kSumByMma = kSumByMma_;
  static constexpr bool kChain = kChain_;

  static constexpr int kOutColumns = kHeadDim + (kSumByMma ? 8 : 0);
  static constexpr int kTileBytes = kKvTile * kHeadDim * 2;
  static constexpr int kOnesBytes = kSumByMma ? 2048 : 0;
  // As many as fit beside 4 KB of barriers, ones and alignment: at least 4, more than 6 gain
  // nothing.
  static constexpr int kFit = (227 * 1024 - 4096) / (2 * kTileBytes);
  static constexpr int kStages = kFit < 6 ? kFit : 6;
  static constexpr int kBarrierBytes = 4 * kStages * 8;
  // 1024 more to align the tiles.
  static constexpr int kSharedBytes = 2 * kStages * kTileBytes + kOnesBytes + kBarrierBytes + 1024;
  static_assert(kTileBytes % 1024 == 0 && kKvTile % 16 == 0 && kKvTile <= 256 && kStages >= 4);
};

// The K/V tiles of the visible extents: tiles [0, first) lie in extent 0, the rest in extent 1.
struct Tiles {
  int first;
  int count;
  int last_rows[2];  // valid rows in the last tile of each extent
  int rows_per_tile;

  __device__ Tiles(const int32_t (&rows)[2], int kv_tile) : rows_per_tile(kv_tile) {
    first = (rows[0] + kv_tile - 1) / kv_tile;
    count = first + (rows[1] + kv_tile - 1) / kv_tile;
    last_rows[0] = rows[0] - (first - 1) * kv_tile;
    last_rows[1] = rows[1] - (count - first - 1) * kv_tile;
  }
  __device__ int Extent(int tile) const { return tile < first ? 0 : 1; }
  __device__ int Row(int tile) const {
    return (tile < first ? tile : tile - first) * rows_per_tile;
  }
  __device__ bool IsLast(int tile) const { return tile == first - 1 || tile == count - 1; }
  __device__ int LastRows(int tile) const { return tile < first ? last_rows[0] : last_rows[1]; }
};

// Tiles [begin, end) of a work item (one head's tile of queries): one share of `splits`.
struct Segment {
  int work;
  int share;
  int begin;
  int end;

  __host__ __device__ Segment(int work_, int share_, int splits, int tiles)
      : work(work_),
        share(share_),
        begin(tiles * share_ / splits),
        end(tiles * (share_ + 1) / splits) {}
  __host__ __device__ bool IsEmpty() const { return begin == end; }
};

// Calls `run` for the segments of this CTA. First all work items' first shares, then the second:
// the CTAs at work together read the same K and V about the same time, so that memory is read once.
template <class Function>
__device__ __forceinline__ void ForEachSegment(const Params& params, int tiles, Function run) {
  const int units = params.works * params.splits;
#pragma unroll 1
  for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const int share = unit / params.works;
    const Segment segment(unit - share * params.works, share, params.splits, tiles);
    if (!segment.IsEmpty()) run(segment);
  }
}

struct WorkItem {
  int batch;
  int head;
  int q_begin;

  __device__ WorkItem(const Params& params, int work) {
    const int q_tile = work % params.q_tiles;
    const int rest = work / params.q_tiles;
    head = rest % params.heads;
    batch = rest / params.heads;
    q_begin = q_tile * kQTile;
  }
};

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_WORK_CUH_
