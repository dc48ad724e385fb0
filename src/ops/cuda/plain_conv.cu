#include "ops/cuda/check.h"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/plain_conv.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kThreadRows = 8;
constexpr int kPerThread = kTile / kThreadRows;

// y as a product: rows are output pixels, the inner index k runs over (kernel row, kernel column,
// input channel).
template <typename T>
__global__ void __launch_bounds__(kTile* kThreadRows)
    PlainConvKernel(ConvShape shape, ConvOperands operands, int64_t out_pixels,
                    int64_t out_columns) {
  __shared__ float x_tile[kTile][kTile + 1];
  __shared__ float w_tile[kTile][kTile + 1];
  const T* x = static_cast<const T*>(operands.x);
  const T* kernel = static_cast<const T*>(operands.kernel);
  const int64_t pixel0 = int64_t{blockIdx.x} * kTile;
  const int64_t channel0 = int64_t{blockIdx.y} * kTile;
  const int64_t inner = int64_t{shape.size} * shape.size * shape.in;
  float sums[kPerThread] = {};
  for (int64_t k0 = 0; k0 < inner; k0 += kTile) {
    const int64_t k = k0 + threadIdx.x;
    const int64_t position = k / shape.in;
    const int64_t down = position / shape.size - shape.size / 2;
    const int64_t across = position % shape.size - shape.size / 2;
    for (int i = threadIdx.y; i < kTile; i += kThreadRows) {
      const int64_t pixel = pixel0 + i, channel = channel0 + i;
      const int64_t row = pixel / out_columns * shape.stride + down;
      const int64_t column = pixel % out_columns * shape.stride + across;
      const bool inside = pixel < out_pixels && k < inner && row >= 0 && row < shape.rows &&
                          column >= 0 && column < shape.columns;
      x_tile[i][threadIdx.x] =
          inside ? Widen(x[(row * shape.columns + column) * shape.in + k % shape.in]) : 0.0f;
      w_tile[i][threadIdx.x] =
          channel < shape.out && k < inner ? Widen(kernel[channel * inner + k]) : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < kTile; ++j) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        sums[i] += x_tile[threadIdx.y + i * kThreadRows][j] * w_tile[threadIdx.x][j];
      }
    }
    __syncthreads();
  }
  const int64_t channel = channel0 + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t pixel = pixel0 + threadIdx.y + i * kThreadRows;
    if (pixel >= out_pixels || channel >= shape.out) continue;
    float value = sums[i] + (shape.bias ? operands.bias[channel] : 0.0f);
    T* y = static_cast<T*>(operands.y) + pixel * shape.out + channel;
    if (shape.epilogue == Epilogue::kRelu) value = Rectify(value);
    if (shape.epilogue == Epilogue::kAccumulate) value += Widen(*y);
    *y = Narrow<T>(value);
  }
}

}  // namespace

void PlainConv(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream) {
  const int64_t out_columns = shape.OutputSize(shape.columns);
  const int64_t out_pixels = shape.OutputSize(shape.rows) * out_columns;
  if (out_pixels == 0 || shape.out == 0) return;
  if (shape.epilogue == Epilogue::kGelu) FailUnsupported("PlainConv", "GELU");
  const dim3 grid(BlocksFor(out_pixels, kTile), BlocksFor(shape.out, kTile));
  VisitF32OrF16(shape.dtype, "PlainConv", [&]<typename T>(T) {
    PlainConvKernel<T>
        <<<grid, dim3(kTile, kThreadRows), 0, stream>>>(shape, operands, out_pixels, out_columns);
  });
  CheckLaunch("PlainConv");
}

}  // namespace lingbot::ops::cuda
