#include "ops/cuda/check.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/resize.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kWidth = 8;

struct Grid {
  uint32_t in_rows, in_columns, out_columns, channels;
  float row_scale, column_scale;  // input steps per output step
};

// Where an output index falls between two input indices.
struct Tap {
  uint32_t low, high;
  float weight;  // of `high`

  __device__ Tap(uint32_t index, float scale, uint32_t in) {
    const float position = scale * static_cast<float>(index);
    low = min(static_cast<uint32_t>(position), in - 1);
    high = min(low + 1, in - 1);
    weight = position - static_cast<float>(low);
  }
};

// kStep channels of one output pixel a thread.
template <typename T, int kStep>
__global__ void __launch_bounds__(kBlock)
    ResizeKernel(Grid grid, const T* x, PositionAddend addend, T* y, uint32_t count) {
  WaitForPrevious();
  const uint32_t index = blockIdx.x * kBlock + threadIdx.x;
  if (index >= count) return;
  const uint32_t per_pixel = grid.channels / kStep;
  const uint32_t pixel = index / per_pixel;
  const uint32_t channel = index % per_pixel * kStep;
  const uint32_t row = pixel / grid.out_columns;
  const uint32_t column = pixel % grid.out_columns;
  const Tap v(row, grid.row_scale, grid.in_rows);
  const Tap h(column, grid.column_scale, grid.in_columns);
  const auto at = [&](uint32_t r, uint32_t c) {
    return x + (size_t{r} * grid.in_columns + c) * grid.channels + channel;
  };
  float a[kStep], b[kStep], c[kStep], d[kStep];
  Load(at(v.low, h.low), a);
  Load(at(v.low, h.high), b);
  Load(at(v.high, h.low), c);
  Load(at(v.high, h.high), d);
  const float right = h.weight, left = 1.0f - right;
  const float bottom = v.weight, top = 1.0f - bottom;
#pragma unroll
  for (int i = 0; i < kStep; ++i) {
    a[i] = top * (left * a[i] + right * b[i]) + bottom * (left * c[i] + right * d[i]);
  }
  if (addend.across != nullptr) {
    const uint32_t half = grid.channels / 2;
    const float* source = channel < half ? addend.across + column * half + channel
                                         : addend.down + row * half + (channel - half);
    Load(source, b);
#pragma unroll
    for (int i = 0; i < kStep; ++i) a[i] += b[i];
  }
  Store(a, y + size_t{index} * kStep);
}

float StepOf(int64_t in, int64_t out) {
  return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
}

template <typename T>
void Launch(const ResizeShape& shape, const T* x, const PositionAddend& addend, T* y,
            cudaStream_t stream) {
  const Grid grid{
      static_cast<uint32_t>(shape.in_rows),     static_cast<uint32_t>(shape.in_columns),
      static_cast<uint32_t>(shape.out_columns), static_cast<uint32_t>(shape.channels),
      StepOf(shape.in_rows, shape.out_rows),    StepOf(shape.in_columns, shape.out_columns)};
  const int64_t split = addend.across == nullptr ? shape.channels : shape.channels / 2;
  const bool wide = split % kWidth == 0 && Aligned(x, 16) && Aligned(y, 16) &&
                    Aligned(addend.across, 16) && Aligned(addend.down, 16);
  const int64_t elements = shape.out_rows * shape.out_columns * shape.channels;
  const int64_t count = wide ? elements / kWidth : elements;
  const auto launch = [&](auto kernel) {
    LaunchKernel("ResizeBilinear", kernel, BlocksFor(count, kBlock), kBlock, 0, stream, grid, x,
                 addend, y, static_cast<uint32_t>(count));
  };
  wide ? launch(ResizeKernel<T, kWidth>) : launch(ResizeKernel<T, 1>);
}

}  // namespace

void ResizeBilinear(const ResizeShape& shape, const void* x, DType dtype,
                    const PositionAddend& addend, void* y, cudaStream_t stream) {
  if (shape.out_rows * shape.out_columns * shape.channels == 0) return;
  VisitF32OrF16(dtype, "ResizeBilinear", [&]<typename T>(T) {
    Launch(shape, static_cast<const T*>(x), addend, static_cast<T*>(y), stream);
  });
}

}  // namespace lingbot::ops::cuda
