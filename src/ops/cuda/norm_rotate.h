#ifndef LINGBOT_OPS_CUDA_NORM_ROTATE_H_
#define LINGBOT_OPS_CUDA_NORM_ROTATE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace lingbot::ops::cuda {

// The pairings of ops::RotaryPairing.
enum class Pairing { kAdjacent, kHalvesOfHalf };

// Cosines and sines [rows, head_dim/2] float32; token t takes row t mod rows.
struct RotaryRows {
  Pairing pairing = Pairing::kAdjacent;
  const float* cos = nullptr;
  const float* sin = nullptr;
  int64_t rows = 0;
};

// gamma and beta [head_dim] float32 for q and for k.
struct HeadNorms {
  const float* q_gamma = nullptr;
  const float* q_beta = nullptr;
  const float* k_gamma = nullptr;
  const float* k_beta = nullptr;
  float eps = 0.0f;
  float q_scale = 1.0f;  // multiplies q before it is rounded to its type
};

// The product x Wqkv^T: [rows, 3, heads, head_dim] contiguous.
struct QkvRows {
  void* data = nullptr;
  DType dtype = DType::kBF16;   // kBF16, kF16 or kF32
  DType result = DType::kBF16;  // what q, k and v become: the same, or kBF16 out of kF16
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};

// Where the k and v of a token go: element (token, h, d) to k[offsets[token] + h * head_dim + d]
// and v[offsets[token] + h * head_dim + d]. `offsets` [rows] lies in device memory and counts
// elements, which expresses planes (row * heads * head_dim) as well as interleaved pages (page *
// page_stride + slot * token_stride, with v based one plane of the page later). For head_dim 64 and
// 128 the planes must be aligned to 16 bytes and the offsets be multiples of 8.
struct KvRows {
  void* k = nullptr;
  void* v = nullptr;
  DType dtype = DType::kBF16;  // kBF16 or kF32
  const int64_t* offsets = nullptr;
};

// Layer normalisation of every head of q and k, then rotation by the table (ops/rotary.h), in
// place; v changes its type only.
void NormRotate(const QkvRows& qkv, const HeadNorms& norms, const RotaryRows& table,
                cudaStream_t stream);

// The same with k and v written to the cache instead: q changes in place, the k and v parts of
// `qkv` stay as they were.
void NormRotateToCache(const QkvRows& qkv, const HeadNorms& norms, const RotaryRows& table,
                       const KvRows& cache, cudaStream_t stream);

// Writes k and v of a qkv product to the cache as they are.
void StoreKv(const QkvRows& qkv, const KvRows& cache, cudaStream_t stream);

// Refreshes the time part of a stream table: columns [0, time_pairs) of the `tokens` rows of frame
// f become angles[f][0][j] (cosines, in `cos`) and angles[f][1][j] (sines, in `sin`). angles
// [frames, 2, time_pairs] float32 in device memory; cos and sin [frames * tokens, pairs].
void WriteTimeAngles(const float* angles, int64_t frames, int64_t tokens, int64_t time_pairs,
                     int64_t pairs, float* cos, float* sin, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_NORM_ROTATE_H_
