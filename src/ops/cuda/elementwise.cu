#include "ops/cuda/check.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/pack.cuh"

// Flat and row-wise operators of the transformer blocks and the camera head.
namespace lingbot::ops::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kWidth = 8;  // elements a thread takes: 16 bytes of a 16-bit type

// y[i] = function(y[i], x[i]) for flat arrays, whole packs first, then the rest one by one.
template <typename X, typename Y, typename Function>
__global__ void __launch_bounds__(kBlock)
    MapKernel(const X* x, Y* y, int64_t packs, int64_t count, Function function) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index < packs) {
    float a[kWidth], b[kWidth];
    Load(x + index * kWidth, a);
    Load(y + index * kWidth, b);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) b[i] = function(a[i], b[i]);
    Store(b, y + index * kWidth);
  } else if (const int64_t i = packs * kWidth + (index - packs); i < count) {
    y[i] = Narrow<Y>(function(Widen(x[i]), Widen(y[i])));
  }
}

template <typename X, typename Y, typename Function>
void Map(const X* x, Y* y, int64_t count, const char* name, cudaStream_t stream,
         Function function) {
  if (count == 0) return;
  const bool aligned = Aligned(x, 16) && Aligned(y, 16);
  const int64_t packs = aligned ? count / kWidth : 0;
  const int64_t threads = packs + (count - packs * kWidth);
  LaunchKernel(name, MapKernel<X, Y, Function>, BlocksFor(threads, kBlock), kBlock, 0, stream, x, y,
               packs, count, function);
}

struct TakeRectified {
  __device__ float operator()(float x, float) const { return Rectify(x); }
};
struct TakeSum {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct TakeSilu {
  __device__ float operator()(float x, float) const { return x / (1.0f + expf(-x)); }
};
struct TakeFirst {
  __device__ float operator()(float x, float) const { return x; }
};

struct ApplyNothing {
  __device__ float operator()(float r) const { return r; }
};
struct ApplyRelu {
  __device__ float operator()(float r) const { return Rectify(r); }
};
struct ApplyGelu {
  __device__ float operator()(float r) const { return Gelu(r); }
};
struct ApplyGeluFor16Bits {
  __device__ float operator()(float r) const { return GeluFor16Bits(r); }
};

// kWide: channels and stride are multiples of kWidth, pointers aligned.
template <typename T, int kStep, typename Function>
__global__ void __launch_bounds__(kBlock)
    BiasKernel(T* y, uint32_t rows, uint32_t per_row, int64_t stride, const float* bias,
               Function function) {
  WaitForPrevious();
  const uint32_t index = blockIdx.x * kBlock + threadIdx.x;
  const uint32_t row = index / per_row;
  const uint32_t column = index % per_row * kStep;
  if (row >= rows) return;
  T* target = y + row * stride + column;
  float values[kStep];
  Load(target, values);
  if (bias != nullptr) {
    float b[kStep];
    Load(bias + column, b);
#pragma unroll
    for (int i = 0; i < kStep; ++i) values[i] += b[i];
  }
#pragma unroll
  for (int i = 0; i < kStep; ++i) values[i] = function(values[i]);
  Store(values, target);
}

template <typename Function>
void ApplyBias(void* y, DType dtype, int64_t rows, int64_t channels, int64_t stride,
               const float* bias, const char* name, cudaStream_t stream, Function function) {
  if (rows == 0) return;
  VisitFloatType(dtype, name, [&]<typename T>(T) {
    T* data = static_cast<T*>(y);
    const bool wide = channels % kWidth == 0 && stride % kWidth == 0 && Aligned(y, 16) &&
                      (bias == nullptr || Aligned(bias, 16));
    const int64_t per_row = wide ? channels / kWidth : channels;
    const unsigned blocks = BlocksFor(rows * per_row, kBlock);
    const auto launch = [&](auto kernel) {
      LaunchKernel(name, kernel, blocks, kBlock, 0, stream, data, static_cast<uint32_t>(rows),
                   static_cast<uint32_t>(per_row), stride, bias, function);
    };
    wide ? launch(BiasKernel<T, kWidth, Function>) : launch(BiasKernel<T, 1, Function>);
  });
}

__global__ void __launch_bounds__(kBlock)
    AddRowsKernel(const float* table, int64_t table_rows, float* y, int64_t count, int64_t channels,
                  int64_t y_stride) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= count) return;
  const int64_t row = index / channels;
  const int64_t column = index % channels;
  y[row * y_stride + column] += table[row % table_rows * channels + column];
}

template <int kStep>
__global__ void __launch_bounds__(kBlock)
    CopyRowsKernel(const float* x, int64_t x_stride, float* y, int64_t y_stride, uint32_t rows,
                   uint32_t per_row) {
  WaitForPrevious();
  const uint32_t index = blockIdx.x * kBlock + threadIdx.x;
  const uint32_t row = index / per_row;
  const uint32_t column = index % per_row * kStep;
  if (row >= rows) return;
  float values[kStep];
  Load(x + row * x_stride + column, values);
  Store(values, y + row * y_stride + column);
}

__global__ void __launch_bounds__(kBlock)
    ModulateKernel(const float* modulation, const float* plain, const float* normed, float* x,
                   int64_t count, int64_t channels) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= count) return;
  const int64_t column = index % channels;
  const float* shift = modulation + index / channels * 3 * channels + column;
  const float scale = shift[channels], gate = shift[2 * channels];
  x[index] = gate * (plain[index] * (1.0f + scale) + *shift) + normed[index];
}

__global__ void __launch_bounds__(kBlock)
    ActivatePoseKernel(const float* raw, float* poses, int64_t count, int64_t size,
                       int64_t linear) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= count) return;
  poses[index] = index % size < linear ? raw[index] : Rectify(raw[index]);
}

}  // namespace

void Relu(void* x, DType dtype, int64_t count, cudaStream_t stream) {
  VisitFloatType(dtype, "Relu", [&]<typename T>(T) {
    Map(static_cast<const T*>(x), static_cast<T*>(x), count, "Relu", stream, TakeRectified{});
  });
}

void Add(const void* x, void* y, DType dtype, int64_t count, cudaStream_t stream) {
  VisitFloatType(dtype, "Add", [&]<typename T>(T) {
    Map(static_cast<const T*>(x), static_cast<T*>(y), count, "Add", stream, TakeSum{});
  });
}

void Silu(float* x, int64_t count, cudaStream_t stream) {
  Map(static_cast<const float*>(x), x, count, "Silu", stream, TakeSilu{});
}

void Convert(const void* source, DType source_dtype, void* target, DType target_dtype,
             int64_t count, cudaStream_t stream) {
  VisitFloatType(source_dtype, "Convert", [&]<typename X>(X) {
    VisitFloatType(target_dtype, "Convert", [&]<typename Y>(Y) {
      Map(static_cast<const X*>(source), static_cast<Y*>(target), count, "Convert", stream,
          TakeFirst{});
    });
  });
}

void AddBias(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
             const float* bias, cudaStream_t stream) {
  ApplyBias(y, dtype, rows, channels, y_stride, bias, "AddBias", stream, ApplyNothing{});
}

void AddBiasGelu(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
                 const float* bias, cudaStream_t stream) {
  const char* name = "AddBiasGelu";
  if (dtype == DType::kF32) {
    ApplyBias(y, dtype, rows, channels, y_stride, bias, name, stream, ApplyGelu{});
  } else {
    ApplyBias(y, dtype, rows, channels, y_stride, bias, name, stream, ApplyGeluFor16Bits{});
  }
}

void AddBiasRelu(void* y, DType dtype, int64_t rows, int64_t channels, int64_t y_stride,
                 const float* bias, cudaStream_t stream) {
  ApplyBias(y, dtype, rows, channels, y_stride, bias, "AddBiasRelu", stream, ApplyRelu{});
}

void AddRows(const float* table, int64_t table_rows, float* y, int64_t rows, int64_t channels,
             int64_t y_stride, cudaStream_t stream) {
  const int64_t count = rows * channels;
  if (count == 0) return;
  LaunchKernel("AddRows", AddRowsKernel, BlocksFor(count, kBlock), kBlock, 0, stream, table,
               table_rows, y, count, channels, y_stride);
}

void CopyRows(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
              int64_t columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  constexpr int kStep = 4;
  const bool wide = columns % kStep == 0 && x_stride % kStep == 0 && y_stride % kStep == 0 &&
                    Aligned(x, 16) && Aligned(y, 16);
  const int64_t per_row = wide ? columns / kStep : columns;
  const auto launch = [&](auto kernel) {
    LaunchKernel("CopyRows", kernel, BlocksFor(rows * per_row, kBlock), kBlock, 0, stream, x,
                 x_stride, y, y_stride, static_cast<uint32_t>(rows),
                 static_cast<uint32_t>(per_row));
  };
  wide ? launch(CopyRowsKernel<kStep>) : launch(CopyRowsKernel<1>);
}

void Modulate(const float* modulation, const float* plain, const float* normed, float* x,
              int64_t frames, int64_t channels, cudaStream_t stream) {
  const int64_t count = frames * channels;
  if (count == 0) return;
  LaunchKernel("Modulate", ModulateKernel, BlocksFor(count, kBlock), kBlock, 0, stream, modulation,
               plain, normed, x, count, channels);
}

void ActivatePose(const float* raw, float* poses, int64_t frames, int64_t size, int64_t linear,
                  cudaStream_t stream) {
  const int64_t count = frames * size;
  if (count == 0) return;
  LaunchKernel("ActivatePose", ActivatePoseKernel, BlocksFor(count, kBlock), kBlock, 0, stream, raw,
               poses, count, size, linear);
}

}  // namespace lingbot::ops::cuda
