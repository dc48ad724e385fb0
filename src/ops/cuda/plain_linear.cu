#include "ops/cuda/check.h"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/plain_linear.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kThreadRows = 8;
constexpr int kPerThread = kTile / kThreadRows;

template <typename X, typename Y>
__global__ void __launch_bounds__(kTile* kThreadRows) PlainLinearKernel(LinearCall call) {
  __shared__ float x_tile[kTile][kTile + 1];
  __shared__ float w_tile[kTile][kTile + 1];
  const X* x = static_cast<const X*>(call.x);
  const X* weight = static_cast<const X*>(call.weight);
  const int64_t row0 = int64_t{blockIdx.y} * kTile;
  const int64_t column0 = int64_t{blockIdx.x} * kTile;
  float sums[kPerThread] = {};
  for (int64_t k0 = 0; k0 < call.in; k0 += kTile) {
    const int64_t k = k0 + threadIdx.x;
    for (int i = threadIdx.y; i < kTile; i += kThreadRows) {
      const int64_t row = row0 + i, column = column0 + i;
      x_tile[i][threadIdx.x] =
          row < call.rows && k < call.in ? Widen(x[row * call.x_stride + k]) : 0.0f;
      w_tile[i][threadIdx.x] =
          column < call.out && k < call.in ? Widen(weight[column * call.in + k]) : 0.0f;
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
  const int64_t column = column0 + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t row = row0 + threadIdx.y + i * kThreadRows;
    if (row >= call.rows || column >= call.out) continue;
    float value = call.alpha * sums[i] + (call.bias == nullptr ? 0.0f : call.bias[column]);
    Y* y = static_cast<Y*>(call.y) + row * call.y_stride + column;
    if (call.epilogue == Epilogue::kRelu) value = Rectify(value);
    if (call.epilogue == Epilogue::kGelu) value = Gelu(value);
    if (call.epilogue == Epilogue::kAccumulate) value += Widen(*y);
    *y = Narrow<Y>(value);
  }
}

}  // namespace

void PlainLinear(const LinearCall& call, cudaStream_t stream) {
  if (call.rows == 0 || call.out == 0) return;
  const dim3 grid(BlocksFor(call.out, kTile), BlocksFor(call.rows, kTile));
  VisitFloatType(call.x_dtype, "PlainLinear", [&]<typename X>(X) {
    VisitFloatType(call.y_dtype, "PlainLinear", [&]<typename Y>(Y) {
      PlainLinearKernel<X, Y><<<grid, dim3(kTile, kThreadRows), 0, stream>>>(call);
    });
  });
  CheckLaunch("PlainLinear");
}

}  // namespace lingbot::ops::cuda
