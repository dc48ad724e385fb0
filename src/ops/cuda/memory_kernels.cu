#include "ops/cuda/check.h"
#include "ops/cuda/memory_kernels.h"
#include "ops/cuda/pack.cuh"

namespace lingbot::ops::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void ScaleRowsKernel(const float* source, const float* scale, int64_t columns,
                                int64_t count, T* target) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    target[i] = Narrow<T>(scale == nullptr ? source[i] : source[i] * scale[i / columns]);
  }
}

__global__ void StoreRowsBehindKernel(const float* k, const float* v, int64_t row_stride,
                                      int64_t width, const int32_t* first, float* k_target,
                                      float* v_target, int64_t target_stride) {
  const int64_t row = blockIdx.x;
  const int64_t to = (*first + row) * target_stride;
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x) {
    k_target[to + c] = k[row * row_stride + c];
    v_target[to + c] = v[row * row_stride + c];
  }
}

template <bool kPack>
__global__ void MoveRowsKernel(std::byte* plane, const int64_t* offsets, int64_t words,
                               std::byte* packed) {
  uint32_t* scattered = reinterpret_cast<uint32_t*>(plane + offsets[blockIdx.x]);
  uint32_t* dense = reinterpret_cast<uint32_t*>(packed) + blockIdx.x * words;
  for (int64_t i = threadIdx.x; i < words; i += blockDim.x) {
    if (kPack) {
      dense[i] = scattered[i];
    } else {
      scattered[i] = dense[i];
    }
  }
}

}  // namespace

void ScaleRows(const float* source, const float* scale, int64_t rows, int64_t columns, void* target,
               DType dtype, cudaStream_t stream) {
  const int64_t count = rows * columns;
  if (count == 0) return;
  VisitFloatType(dtype, "ScaleRows", [&](auto type) {
    using T = decltype(type);
    const unsigned blocks = BlocksFor(count, kThreads * 8);
    ScaleRowsKernel<<<blocks, kThreads, 0, stream>>>(source, scale, columns, count,
                                                     static_cast<T*>(target));
  });
  CheckLaunch("ScaleRows");
}

void StoreRowsBehind(const float* k, const float* v, int64_t row_stride, int64_t rows,
                     int64_t width, const int32_t* first, float* k_target, float* v_target,
                     int64_t target_stride, cudaStream_t stream) {
  StoreRowsBehindKernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      k, v, row_stride, width, first, k_target, v_target, target_stride);
  CheckLaunch("StoreRowsBehind");
}

void PackRows(const std::byte* plane, const int64_t* offsets, int64_t rows, int64_t row_bytes,
              std::byte* packed, cudaStream_t stream) {
  MoveRowsKernel<true><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      const_cast<std::byte*>(plane), offsets, row_bytes / 4, packed);
  CheckLaunch("PackRows");
}

void UnpackRows(const std::byte* packed, const int64_t* offsets, int64_t rows, int64_t row_bytes,
                std::byte* plane, cudaStream_t stream) {
  MoveRowsKernel<false><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      plane, offsets, row_bytes / 4, const_cast<std::byte*>(packed));
  CheckLaunch("UnpackRows");
}

}  // namespace lingbot::ops::cuda
