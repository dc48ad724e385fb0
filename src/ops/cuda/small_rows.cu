#include <algorithm>

#include "ops/cuda/check.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/small_rows.h"

namespace lingbot::ops::cuda {
namespace {

// One block a multiprocessor, sized so that two fit: the next product's block moves in and fetches
// its first weights while this one finishes.
constexpr int kWarps = 16;
constexpr int kThreads = kWarps * 32;
// 16-byte loads of weights a lane issues at a time; the batch after is always under way too. 4 TB/s
// times the latency of memory, about 0.8 us, are 24 KB a multiprocessor; one batch of its 16 warps
// is 32 KB.
constexpr int kBatch = 4;

// Weights are read once and would only push the activations out of the cache.
__device__ float4 LoadWeight(const float* address) {
  return __ldcs(reinterpret_cast<const float4*>(address));
}

__device__ float Dot(float4 a, float4 b, float sum) {
  sum = fmaf(a.x, b.x, sum);
  sum = fmaf(a.y, b.y, sum);
  sum = fmaf(a.z, b.z, sum);
  return fmaf(a.w, b.w, sum);
}

__device__ float Finish(float value, const SmallRowsProduct& p, int64_t row, int64_t column) {
  if (p.bias != nullptr) value += p.bias[column];
  switch (p.epilogue) {
    case Epilogue::kStore:
      return value;
    case Epilogue::kRelu:
      return Rectify(value);
    case Epilogue::kGelu:
      return Gelu(value);
    case Epilogue::kAccumulate:
      return p.y[row * p.y_stride + column] + value;
  }
  return value;
}

// A batch of weights: kBatch / kColumns steps of 128 inputs each for kColumns neighbouring columns,
// starting at input `begin` of the columns' group `group`.
template <int kColumns>
struct Batch {
  static constexpr int kSteps = kBatch / kColumns;
  float4 weights[kSteps][kColumns];

  __device__ void Load(const SmallRowsProduct& p, int group, int begin) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int64_t column = int64_t{group} * kColumns + c;
      const float* source = p.weight + column * p.in;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const int i = begin + s * 128;
        weights[s][c] = column < p.out && i < p.in ? LoadWeight(source + i)
                                                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    }
  }
};

// Every warp takes groups of kColumns columns in turn and computes them for all rows (at most
// kRows), so that a value of x read from the first-level cache serves kColumns products.
template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads) SmallRowsKernel(SmallRowsProduct p) {
  constexpr int kSteps = Batch<kColumns>::kSteps;
  const int lane = threadIdx.x % 32;
  const int groups = static_cast<int>((p.out + kColumns - 1) / kColumns);
  const int stride = gridDim.x * kWarps;
  int group = blockIdx.x + gridDim.x * (threadIdx.x / 32);
  int begin = lane * 4;
  Batch<kColumns> now, next;
  ReleaseNext();
  now.Load(p, group, begin);  // nobody writes weights: they may be fetched ahead of the wait
  WaitForPrevious();
  float sums[kRows][kColumns] = {};
  while (group < groups) {
    const bool last = begin - lane * 4 + kSteps * 128 >= p.in;
    const int next_group = last ? group + stride : group;
    const int next_begin = last ? lane * 4 : begin + kSteps * 128;
    next.Load(p, next_group, next_begin);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int i = begin + s * 128;
      if (i >= p.in) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= p.rows) break;
        const float4 x = *reinterpret_cast<const float4*>(p.x + r * p.x_stride + i);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sums[r][c] = Dot(now.weights[s][c], x, sums[r][c]);
      }
    }
    if (last) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const float sum = WarpSum(sums[r][c]);
          const int64_t column = int64_t{group} * kColumns + c;
          if (lane == 0 && r < p.rows && column < p.out) {
            p.y[r * p.y_stride + column] = Finish(sum, p, r, column);
          }
          sums[r][c] = 0.0f;
        }
      }
    }
    now = next;
    group = next_group;
    begin = next_begin;
  }
}

// Widths or addresses that rule out 16-byte loads: one warp a column of one row.
__global__ void __launch_bounds__(kThreads) SmallRowsAnyKernel(SmallRowsProduct p) {
  WaitForPrevious();
  const int lane = threadIdx.x % 32;
  const int64_t column = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t row = blockIdx.y;
  if (column >= p.out) return;
  const float* x = p.x + row * p.x_stride;
  const float* weight = p.weight + column * p.in;
  float sum = 0.0f;
  for (int64_t i = lane; i < p.in; i += 32) sum = fmaf(weight[i], x[i], sum);
  sum = WarpSum(sum);
  if (lane == 0) p.y[row * p.y_stride + column] = Finish(sum, p, row, column);
}

template <int kRows, int kColumns>
void Start(const SmallRowsProduct& product, cudaStream_t stream) {
  const unsigned multiprocessors =
      static_cast<unsigned>(DeviceAttribute(cudaDevAttrMultiProcessorCount));
  const unsigned blocks = std::min(multiprocessors, BlocksFor(product.out, kColumns));
  LaunchKernel("SmallRowsLinear", SmallRowsKernel<kRows, kColumns>, blocks, kThreads, 0, stream,
               product);
}

}  // namespace

void SmallRowsLinear(const SmallRowsProduct& product, cudaStream_t stream) {
  if (product.rows == 0 || product.out == 0) return;
  if (product.rows > kMaxSmallRows) FailUnsupported("SmallRowsLinear", "more than 16 rows");
  const bool wide = product.in % 4 == 0 && product.x_stride % 4 == 0 && Aligned(product.x, 16) &&
                    Aligned(product.weight, 16);
  if (!wide) {
    const dim3 grid(BlocksFor(product.out, kWarps), static_cast<unsigned>(product.rows));
    LaunchKernel("SmallRowsLinear", SmallRowsAnyKernel, grid, kThreads, 0, stream, product);
  } else if (product.rows == 1) {
    Start<1, 1>(product, stream);
  } else if (product.rows <= 4) {
    Start<4, 2>(product, stream);
  } else if (product.rows <= 8) {
    Start<8, 2>(product, stream);
  } else {
    Start<16, 2>(product, stream);
  }
}

}  // namespace lingbot::ops::cuda
