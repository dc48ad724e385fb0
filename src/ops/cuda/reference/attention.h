#ifndef LINGBOT_OPS_CUDA_REFERENCE_ATTENTION_H_
#define LINGBOT_OPS_CUDA_REFERENCE_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda::reference {

// The plain twin of the attention kernels, and what it takes to judge them: inputs, poison, errors.

struct Problem {
  int element_bytes = 2;  // 2: bfloat16, 4: float32
  int heads = 0;
  int head_dim = 0;
  int q_tokens = 0;
  int page_size = 0;
  int64_t kv_tokens = 0;
  const void* q = nullptr;
  int64_t q_token_stride = 0;
  PagedKv kv;
};

struct Errors {
  double relative_l2 = 0;  // over the sampled rows, of all heads
  double worst = 0;        // largest |difference| over the largest |value| of the same row and head
  int worst_row = 0, worst_head = 0;
  bool finite = true;  // every element of the output, not only the sampled ones
};

// Every byte 0xFF: NaN in every type.
void Poison(void* data, size_t bytes, CudaStream stream);
// Normal values of standard deviation `scale`, `count` of them; the same seed gives the same
// values.
void FillNormal(int element_bytes, void* data, int64_t count, uint64_t seed, float scale,
                CudaStream stream);
// The same for the rows of q and for the visible rows of K and V, wherever they lie.
void FillProblem(const Problem& problem, uint64_t seed, float q_scale, CudaStream stream);

// Compares `out` [q_tokens, heads, head_dim] with softmax(q k^T / sqrt(head_dim)) v, computed in
// float32 products and float64 sums from the same inputs, at the rows named.
Errors Judge(const Problem& problem, const void* out, const std::vector<int32_t>& rows,
             CudaStream stream);

bool SameBytes(const void* a, const void* b, size_t bytes, CudaStream stream);

}  // namespace lingbot::ops::cuda::reference

#endif  // LINGBOT_OPS_CUDA_REFERENCE_ATTENTION_H_
