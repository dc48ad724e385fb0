#include "ops/cuda/check.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/pack.cuh"

// Operators on images and feature maps: patches in, depth out.
namespace lingbot::ops::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kWidth = 8;

// kStep channels a thread, all on one side of the middle.
template <typename T, int kStep>
__global__ void __launch_bounds__(kBlock)
    PositionMapKernel(const float* across, const float* down, T* x, uint32_t count,
                      uint32_t columns, uint32_t half) {
  WaitForPrevious();
  const uint32_t index = blockIdx.x * kBlock + threadIdx.x;
  if (index >= count) return;
  const uint32_t per_pixel = 2 * half / kStep;
  const uint32_t pixel = index / per_pixel;
  const uint32_t channel = index % per_pixel * kStep;
  const float* source = channel < half ? across + pixel % columns * half + channel
                                       : down + pixel / columns * half + (channel - half);
  T* target = x + size_t{index} * kStep;
  float add[kStep], values[kStep];
  Load(source, add);
  Load(target, values);
#pragma unroll
  for (int i = 0; i < kStep; ++i) values[i] += add[i];
  Store(values, target);
}

template <typename T>
__global__ void __launch_bounds__(kBlock)
    ExtractPatchesKernel(const float* image, int64_t height, int64_t width, int patch,
                         Normalization normalization, T* out, int64_t out_stride) {
  WaitForPrevious();
  const int64_t columns = width / patch;
  const int64_t top = blockIdx.x / columns * patch;
  const int64_t left = blockIdx.x % columns * patch;
  const int area = patch * patch;
  T* row = out + blockIdx.x * out_stride;
  for (int i = threadIdx.x; i < out_stride; i += kBlock) {
    if (i >= 3 * area) {
      row[i] = Narrow<T>(0.0f);
      continue;
    }
    const int channel = i / area;
    const int y = i % area / patch;
    const int x = i % patch;
    const float value = image[(channel * height + top + y) * width + left + x];
    row[i] = Narrow<T>((value - normalization.mean[channel]) / normalization.deviation[channel]);
  }
}

// One kernel row of one input pixel is contiguous on both sides: `run` packs of type Unit.
template <typename Unit>
__global__ void __launch_bounds__(kBlock)
    DepthToSpaceKernel(const Unit* x, Unit* y, uint32_t count, uint32_t columns, uint32_t size,
                       uint32_t run) {
  WaitForPrevious();
  const uint32_t index = blockIdx.x * kBlock + threadIdx.x;
  if (index >= count) return;
  const uint32_t in_run = index % run;
  const uint32_t kernel_row = index / run % size;
  const uint32_t pixel = index / (run * size);
  const uint32_t row = pixel / columns * size + kernel_row;
  y[(size_t{row} * columns + pixel % columns) * run + in_run] = x[index];
}

template <typename Unit>
void LaunchDepthToSpace(const void* x, void* y, int64_t pixels, int64_t columns, int size,
                        int64_t run, cudaStream_t stream) {
  const int64_t count = pixels * size * run;
  LaunchKernel("DepthToSpace", DepthToSpaceKernel<Unit>, BlocksFor(count, kBlock), kBlock, 0,
               stream, static_cast<const Unit*>(x), static_cast<Unit*>(y),
               static_cast<uint32_t>(count), static_cast<uint32_t>(columns),
               static_cast<uint32_t>(size), static_cast<uint32_t>(run));
}

__global__ void __launch_bounds__(kBlock)
    DepthActivationKernel(const float2* x, int64_t pixels, float* depth, float* confidence) {
  WaitForPrevious();
  const int64_t pixel = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (pixel >= pixels) return;
  const float2 logits = x[pixel];
  depth[pixel] = expf(logits.x);
  confidence[pixel] = 1.0f + expf(logits.y);
}

constexpr int kMaxChannels = 256;

// One thread a pixel: 32 channels are 64 or 128 bytes of its own.
template <typename T, int kStep>
__global__ void __launch_bounds__(kBlock)
    PredictDepthKernel(const T* x, int64_t pixels, int channels, const float* w, const float* b,
                       float* depth, float* confidence) {
  WaitForPrevious();
  __shared__ float weights[2 * kMaxChannels];
  for (int i = threadIdx.x; i < 2 * channels; i += kBlock) weights[i] = w[i];
  __syncthreads();
  const int64_t pixel = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (pixel >= pixels) return;
  float first = 0.0f, second = 0.0f;
  for (int c = 0; c < channels; c += kStep) {
    float values[kStep];
    Load(x + pixel * channels + c, values);
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      first += values[i] * weights[c + i];
      second += values[i] * weights[channels + c + i];
    }
  }
  depth[pixel] = expf(first + b[0]);
  confidence[pixel] = 1.0f + expf(second + b[1]);
}

}  // namespace

void AddPositionMap(const float* across, const float* down, void* x, DType dtype, int64_t rows,
                    int64_t columns, int64_t channels, cudaStream_t stream) {
  const int64_t elements = rows * columns * channels;
  if (elements == 0) return;
  const int64_t half = channels / 2;
  VisitF32OrF16(dtype, "AddPositionMap", [&]<typename T>(T) {
    const bool wide =
        half % kWidth == 0 && Aligned(x, 16) && Aligned(across, 16) && Aligned(down, 16);
    const int64_t count = wide ? elements / kWidth : elements;
    const auto launch = [&](auto kernel) {
      LaunchKernel("AddPositionMap", kernel, BlocksFor(count, kBlock), kBlock, 0, stream, across,
                   down, static_cast<T*>(x), static_cast<uint32_t>(count),
                   static_cast<uint32_t>(columns), static_cast<uint32_t>(half));
    };
    wide ? launch(PositionMapKernel<T, kWidth>) : launch(PositionMapKernel<T, 1>);
  });
}

void ExtractPatches(const float* image, int64_t height, int64_t width, int patch,
                    const Normalization& normalization, void* out, DType out_dtype,
                    int64_t out_stride, cudaStream_t stream) {
  const int64_t patches = (height / patch) * (width / patch);
  if (patches == 0) return;
  VisitFloatType(out_dtype, "ExtractPatches", [&]<typename T>(T) {
    LaunchKernel("ExtractPatches", ExtractPatchesKernel<T>, static_cast<unsigned>(patches), kBlock,
                 0, stream, image, height, width, patch, normalization, static_cast<T*>(out),
                 out_stride);
  });
}

void DepthToSpace(const void* x, DType dtype, int64_t rows, int64_t columns, int size,
                  int64_t channels, void* y, cudaStream_t stream) {
  if (rows * columns * channels == 0) return;
  VisitF32OrF16(dtype, "DepthToSpace", [&]<typename T>(T) {
    const int64_t bytes = size * channels * static_cast<int64_t>(sizeof(T));
    if (bytes % 16 == 0 && Aligned(x, 16) && Aligned(y, 16)) {
      LaunchDepthToSpace<uint4>(x, y, rows * columns, columns, size, bytes / 16, stream);
    } else {
      LaunchDepthToSpace<T>(x, y, rows * columns, columns, size, size * channels, stream);
    }
  });
}

void DepthActivation(const float* x, int64_t pixels, float* depth, float* confidence,
                     cudaStream_t stream) {
  if (pixels == 0) return;
  LaunchKernel("DepthActivation", DepthActivationKernel, BlocksFor(pixels, kBlock), kBlock, 0,
               stream, reinterpret_cast<const float2*>(x), pixels, depth, confidence);
}

void PredictDepth(const void* x, DType dtype, int64_t pixels, int64_t channels, const float* w,
                  const float* b, float* depth, float* confidence, cudaStream_t stream) {
  if (pixels == 0) return;
  if (channels > kMaxChannels) FailUnsupported("PredictDepth", "more than 256 channels");
  VisitF32OrF16(dtype, "PredictDepth", [&]<typename T>(T) {
    const auto launch = [&](auto kernel) {
      LaunchKernel("PredictDepth", kernel, BlocksFor(pixels, kBlock), kBlock, 0, stream,
                   static_cast<const T*>(x), pixels, static_cast<int>(channels), w, b, depth,
                   confidence);
    };
    const bool wide = channels % kWidth == 0 && Aligned(x, 16);
    wide ? launch(PredictDepthKernel<T, kWidth>) : launch(PredictDepthKernel<T, 1>);
  });
}

}  // namespace lingbot::ops::cuda
