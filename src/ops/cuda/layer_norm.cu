#include "ops/cuda/check.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layer_norm.h"
#include "ops/cuda/pack.cuh"

namespace lingbot::ops::cuda {
namespace {

constexpr int kLanes = 4;  // floats per 16-byte access

struct Rows {
  int64_t group_rows;
  RowLayout x;
  RowLayout y;

  __device__ int64_t Offset(const RowLayout& layout, int64_t row) const {
    return row / group_rows * layout.group_stride + row % group_rows * layout.stride;
  }
};

template <int kWarps>
__device__ float BlockSum(float value, float* partial) {
  value = WarpSum(value);
  if constexpr (kWarps == 1) return value;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += partial[w];
  return sum;
}

// One block a row; the row stays in registers between the passes. Thread t holds packs t, t +
// threads, ...
template <typename T, int kThreads, int kPacks>
__global__ void __launch_bounds__(kThreads)
    LayerNormKernel(Rows rows, const float* x, const float* __restrict__ gamma,
                    const float* __restrict__ beta, float eps, T* y) {
  WaitForPrevious();
  constexpr int kChannels = kThreads * kPacks * kLanes;
  __shared__ float partial[2][kThreads / 32];
  const int64_t row = blockIdx.x;
  const float* source = x + rows.Offset(rows.x, row);
  float values[kPacks][kLanes];
  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    Load(source + (p * kThreads + threadIdx.x) * kLanes, values[p]);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) sum += values[p][i];
  }
  const float mean = BlockSum<kThreads / 32>(sum, partial[0]) / kChannels;
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      values[p][i] -= mean;
      squares += values[p][i] * values[p][i];
    }
  }
  const float variance = BlockSum<kThreads / 32>(squares, partial[1]) / kChannels;
  const float scale = 1.0f / sqrtf(variance + eps);
  T* target = y + rows.Offset(rows.y, row);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int column = (p * kThreads + threadIdx.x) * kLanes;
    float g[kLanes], b[kLanes];
    Load(gamma + column, g);
    Load(beta + column, b);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values[p][i] = values[p][i] * scale * g[i] + b[i];
    Store(values[p], target + column);
  }
}

// Any width and alignment: one warp a row, three passes over memory (each lane reads and writes its
// own channels only, so y may be x).
template <typename T>
__global__ void __launch_bounds__(256)
    LayerNormAnyKernel(Rows rows, int64_t count, int64_t channels, const float* x,
                       const float* gamma, const float* beta, float eps, T* y) {
  WaitForPrevious();
  const int64_t row = int64_t{blockIdx.x} * 8 + threadIdx.x / 32;
  if (row >= count) return;
  const int lane = threadIdx.x % 32;
  const float* source = x + rows.Offset(rows.x, row);
  T* target = y + rows.Offset(rows.y, row);
  float sum = 0.0f;
  for (int64_t c = lane; c < channels; c += 32) sum += source[c];
  const float mean = WarpSum(sum) / static_cast<float>(channels);
  float squares = 0.0f;
  for (int64_t c = lane; c < channels; c += 32) {
    const float d = source[c] - mean;
    squares += d * d;
  }
  const float scale = 1.0f / sqrtf(WarpSum(squares) / static_cast<float>(channels) + eps);
  for (int64_t c = lane; c < channels; c += 32) {
    target[c] = Narrow<T>((source[c] - mean) * scale * gamma[c] + beta[c]);
  }
}

bool MultipleOf4(const RowLayout& layout) {
  return layout.stride % kLanes == 0 && layout.group_stride % kLanes == 0;
}

template <typename T>
void Launch(const LayerNormShape& shape, const float* x, const float* gamma, const float* beta,
            float eps, T* y, cudaStream_t stream) {
  const Rows rows{shape.group_rows > 0 ? shape.group_rows : shape.rows, shape.x, shape.y};
  const unsigned blocks = BlocksFor(shape.rows, 1);
  const bool aligned = MultipleOf4(shape.x) && MultipleOf4(shape.y) && Aligned(x, 16) &&
                       Aligned(gamma, 16) && Aligned(beta, 16) && Aligned(y, sizeof(T) * kLanes);
  if (aligned && shape.channels == 1024) {
    LaunchKernel("LayerNorm", LayerNormKernel<T, 128, 2>, blocks, 128, 0, stream, rows, x, gamma,
                 beta, eps, y);
  } else if (aligned && shape.channels == 2048) {
    LaunchKernel("LayerNorm", LayerNormKernel<T, 256, 2>, blocks, 256, 0, stream, rows, x, gamma,
                 beta, eps, y);
  } else {
    LaunchKernel("LayerNorm", LayerNormAnyKernel<T>, BlocksFor(shape.rows, 8), 256, 0, stream, rows,
                 shape.rows, shape.channels, x, gamma, beta, eps, y);
  }
}

}  // namespace

void LayerNorm(const LayerNormShape& shape, const float* x, const float* gamma, const float* beta,
               float eps, void* y, DType y_dtype, cudaStream_t stream) {
  if (shape.rows == 0) return;
  VisitFloatType(y_dtype, "LayerNorm", [&]<typename T>(T) {
    Launch(shape, x, gamma, beta, eps, static_cast<T*>(y), stream);
  });
}

}  // namespace lingbot::ops::cuda
