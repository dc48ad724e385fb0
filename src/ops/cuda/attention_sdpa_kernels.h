#ifndef LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_
#define LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_

#include <cstdint>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Copies the visible rows begin .. begin + tokens - 1 of K and V, `row_bytes` each (a multiple of
// 16), to contiguous memory. Strides of `kv` in elements of element_bytes.
void GatherRows(const PagedKv& kv, int page_size, int64_t begin, int64_t tokens, int row_bytes,
                int element_bytes, void* k_rows, void* v_rows, CudaStream stream);

// Scores of some heads and queries, [heads, tokens] rows of `stride` elements (a multiple of 8).
struct ScoreRows {
  const float* scores = nullptr;
  int heads = 0;
  int tokens = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  // Where the log-sum-exp (base 2) of the first head and query goes; null if not wanted. Those of
  // the next query lie lse_token_stride further, those of the next head follow.
  float* lse = nullptr;
  int lse_token_stride = 0;
};

// probabilities[r, :columns] = softmax(scores[r, :columns]), with the same strides; may work in
// place.
void SoftmaxRows(const ScoreRows& rows, float* probabilities, CudaStream stream);
// The same as a sum of two bfloat16 numbers: probabilities + rests.
void SoftmaxRows(const ScoreRows& rows, void* probabilities, void* rests, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_
