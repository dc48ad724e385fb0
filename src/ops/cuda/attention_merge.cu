#include <cuda_bf16.h>

#include "ops/cuda/attention_merge.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChannels = 4;  // of one thread: 16 bytes of every part

__device__ void StoreQuad(__nv_bfloat16* target, float4 quad) {
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(target);
  pairs[0] = __floats2bfloat162_rn(quad.x, quad.y);
  pairs[1] = __floats2bfloat162_rn(quad.z, quad.w);
}

__device__ void StoreQuad(float* target, float4 quad) { *reinterpret_cast<float4*>(target) = quad; }

// The number of segments is *segments, or `fixed` where there is no such pointer.
template <typename Output>
__global__ void __launch_bounds__(kThreads)
    MergeKernel(const float* __restrict__ parts, const float* __restrict__ lse,
                const int32_t* __restrict__ segments, int fixed, int64_t rows, int head_dim,
                Output* __restrict__ out) {
  const int64_t first = (blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x) * kChannels;
  if (first >= rows * head_dim) {
    return;
  }
  const int64_t row = first / head_dim;
  const int count = segments == nullptr ? fixed : *segments;
  float greatest = lse[row];
  for (int s = 1; s < count; ++s) {
    greatest = fmaxf(greatest, lse[s * rows + row]);
  }
  float total = 0.0f;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int s = 0; s < count; ++s) {
    const float weight = exp2f(lse[s * rows + row] - greatest);
    const float4 part = *reinterpret_cast<const float4*>(parts + s * rows * head_dim + first);
    total += weight;
    sum.x += weight * part.x;
    sum.y += weight * part.y;
    sum.z += weight * part.z;
    sum.w += weight * part.w;
  }
  const float scale = 1.0f / total;
  StoreQuad(out + first, make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale));
}

unsigned BlocksFor(int64_t rows, int head_dim) {
  const int64_t threads = rows * head_dim / kChannels;
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

void MergeParts(const float* parts, const float* lse, const int32_t* segments, int64_t rows,
                int head_dim, void* out, CudaStream stream) {
  MergeKernel<<<BlocksFor(rows, head_dim), kThreads, 0, stream>>>(
      parts, lse, segments, 0, rows, head_dim, static_cast<__nv_bfloat16*>(out));
  CheckCuda(cudaGetLastError(), "attention merge kernel");
}

void MergeFixedParts(const float* parts, const float* lse, int segments, int64_t rows, int head_dim,
                     void* out, bool out_f32, CudaStream stream) {
  const unsigned blocks = BlocksFor(rows, head_dim);
  if (out_f32) {
    MergeKernel<<<blocks, kThreads, 0, stream>>>(parts, lse, nullptr, segments, rows, head_dim,
                                                 static_cast<float*>(out));
  } else {
    MergeKernel<<<blocks, kThreads, 0, stream>>>(parts, lse, nullptr, segments, rows, head_dim,
                                                 static_cast<__nv_bfloat16*>(out));
  }
  CheckCuda(cudaGetLastError(), "attention merge kernel");
}

}  // namespace lingbot::ops::cuda
