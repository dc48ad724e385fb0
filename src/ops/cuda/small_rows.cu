#include "ops/cuda/check.h"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/small_rows.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
// 16-byte loads of weights that a lane has in flight. 4 TB/s times the latency of memory, about 0.7
// us, are 21 KB per multiprocessor; a block of 4 warps has 4 * 32 * 8 * 16 bytes = 16 KB under way,
// and several blocks share a multiprocessor.
constexpr int kInFlight = 8;

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

// One warp computes kColumns neighbouring columns of y for all rows (at most kRows), so that a
// value of x read from the first-level cache serves kColumns products.
template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads) SmallRowsKernel(SmallRowsProduct p) {
  constexpr int kSteps = kInFlight / kColumns;
  const int lane = threadIdx.x % 32;
  const int64_t first = (int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kColumns;
  if (first >= p.out) return;
  const float* weight[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) weight[c] = p.weight + min(first + c, p.out - 1) * p.in;
  float sums[kRows][kColumns] = {};
  for (int64_t begin = lane * 4; begin < p.in; begin += kSteps * 128) {
    float4 w[kSteps][kColumns];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int64_t i = begin + s * 128;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        w[s][c] = i < p.in ? LoadWeight(weight[c] + i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int64_t i = begin + s * 128;
      if (i >= p.in) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= p.rows) break;
        const float4 x = *reinterpret_cast<const float4*>(p.x + r * p.x_stride + i);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sums[r][c] = Dot(w[s][c], x, sums[r][c]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const float sum = WarpSum(sums[r][c]);
      if (lane == 0 && r < p.rows && first + c < p.out) {
        p.y[r * p.y_stride + first + c] = Finish(sum, p, r, first + c);
      }
    }
  }
}

// Widths or addresses that rule out 16-byte loads: one warp a column of one row.
__global__ void __launch_bounds__(kThreads) SmallRowsAnyKernel(SmallRowsProduct p) {
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
void Launch(const SmallRowsProduct& product, cudaStream_t stream) {
  SmallRowsKernel<kRows, kColumns>
      <<<BlocksFor(product.out, kWarps * kColumns), kThreads, 0, stream>>>(product);
}

}  // namespace

void SmallRowsLinear(const SmallRowsProduct& product, cudaStream_t stream) {
  if (product.rows == 0 || product.out == 0) return;
  if (product.rows > kMaxSmallRows) FailUnsupported("SmallRowsLinear", "more than 16 rows");
  const bool wide = product.in % 4 == 0 && product.x_stride % 4 == 0 && Aligned(product.x, 16) &&
                    Aligned(product.weight, 16);
  if (!wide) {
    const dim3 grid(BlocksFor(product.out, kWarps), static_cast<unsigned>(product.rows));
    SmallRowsAnyKernel<<<grid, kThreads, 0, stream>>>(product);
  } else if (product.rows == 1) {
    Launch<1, 1>(product, stream);
  } else if (product.rows <= 4) {
    Launch<4, 2>(product, stream);
  } else if (product.rows <= 8) {
    Launch<8, 4>(product, stream);
  } else {
    Launch<16, 4>(product, stream);
  }
  CheckLaunch("SmallRowsLinear");
}

}  // namespace lingbot::ops::cuda
