#ifndef LINGBOT_OPS_CUDA_PACK_CUH_
#define LINGBOT_OPS_CUDA_PACK_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "base/dtype.h"
#include "ops/cuda/check.h"

// Element types and 16-byte accesses, for device code.
namespace lingbot::ops::cuda {

__device__ inline float Widen(float value) { return value; }
__device__ inline float Widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline float Widen(__half value) { return __half2float(value); }

template <typename T>
__device__ inline T Narrow(float value);
template <>
__device__ inline float Narrow<float>(float value) {
  return value;
}
template <>
__device__ inline __nv_bfloat16 Narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline __half Narrow<__half>(float value) {
  return __float2half_rn(value);
}

// N elements of type T that lie together; N * sizeof(T) is at most 16 or a multiple of 16.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T values[N];
};

template <typename T, int N>
__device__ inline void Load(const T* source, float (&target)[N]) {
  const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(source);
#pragma unroll
  for (int i = 0; i < N; ++i) target[i] = Widen(pack.values[i]);
}

template <typename T, int N>
__device__ inline void Store(const float (&source)[N], T* target) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.values[i] = Narrow<T>(source[i]);
  *reinterpret_cast<Pack<T, N>*>(target) = pack;
}

// Not fmaxf: NaN must come through.
__device__ inline float Rectify(float value) { return value < 0.0f ? 0.0f : value; }

__device__ inline float Gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }

// The same for results that are rounded to 16 bits, without erff's branches: 1 - erf(z) = t (a1 + t
// (a2 + ...)) exp(-z^2), t = 1 / (1 + p z), off by 1.5e-7 at most (Abramowitz and Stegun 7.1.26).
// erff made the pass over an MLP's hidden layer bound by arithmetic.
__device__ inline float GeluFor16Bits(float x) {
  const float z = fabsf(x) * 0.70710678118654752f;
  const float t = __fdividef(1.0f, fmaf(0.3275911f, z, 1.0f));
  float sum = fmaf(1.061405429f, t, -1.453152027f);
  sum = fmaf(sum, t, 1.421413741f);
  sum = fmaf(sum, t, -0.284496736f);
  sum = fmaf(sum, t, 0.254829592f);
  const float half_tail = 0.5f * sum * t * __expf(-z * z);  // (1 - erf(z)) / 2
  return x * (x < 0.0f ? half_tail : 1.0f - half_tail);
}

__device__ inline float WarpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

// Calls `function(T{})` with the type that `dtype` names.
template <typename Function>
void VisitFloatType(DType dtype, const char* who, Function&& function) {
  switch (dtype) {
    case DType::kF32:
      return function(float{});
    case DType::kBF16:
      return function(__nv_bfloat16{});
    case DType::kF16:
      return function(__half{});
    default:
      FailUnsupported(who, NameOf(dtype));
  }
}

// The same for two of the types.
template <typename Function>
void VisitF32OrBF16(DType dtype, const char* who, Function&& function) {
  if (dtype == DType::kF32) return function(float{});
  if (dtype == DType::kBF16) return function(__nv_bfloat16{});
  FailUnsupported(who, NameOf(dtype));
}

template <typename Function>
void VisitF32OrF16(DType dtype, const char* who, Function&& function) {
  if (dtype == DType::kF32) return function(float{});
  if (dtype == DType::kF16) return function(__half{});
  FailUnsupported(who, NameOf(dtype));
}

inline bool Aligned(const void* pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0;
}

inline unsigned BlocksFor(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_PACK_CUH_
