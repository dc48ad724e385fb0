#ifndef LINGBOT_OPS_CUDA_ATTENTION_PAGED_H_
#define LINGBOT_OPS_CUDA_ATTENTION_PAGED_H_

#include <cstdint>

struct CUstream_st;

namespace lingbot::ops::cuda {

using CudaStream = CUstream_st*;  // cudaStream_t, without CUDA's headers

// The K and V of one block as the paged back ends see them. Element (page p, token t, head h,
// channel d) of K is k[pages[p] * page_stride + t * token_stride + h * head_dim + d], of V
// likewise; strides count elements. Two layouts in use:
//   planes       page_stride == token_stride, and pages[p] is the first row of the page
//   interleaved  page_stride == 2 * page_size * token_stride, v == k + page_size * token_stride
// Every page is full but the last. What lies behind its last token may be anything, NaN included.
struct PagedKv {
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t page_stride = 0;
  int64_t token_stride = 0;
  const int32_t* pages = nullptr;  // device memory; at least PagedStep::pages entries
};

// What all blocks of one frame step have in common.
struct PagedStep {
  int q_tokens = 0;
  int page_size = 0;
  int pages = 0;
  int64_t kv_tokens = 0;  // in (pages - 1) * page_size + 1 .. pages * page_size
};

// The largest step that an object must serve; heads and head_dim are those of every step.
struct PagedLimits {
  int max_q_tokens = 0;
  int heads = 0;
  int head_dim = 0;  // FlashInfer: 64 or 128
};

// Queries and result of one block. Element (token t, head h, channel d) of the queries is
// q[t * q_token_stride + h * head_dim + d]; out is contiguous [q_tokens, heads, head_dim]. All
// bfloat16, K and V too; sdpa also takes all float32.
struct PagedCall {
  const void* q = nullptr;
  int64_t q_token_stride = 0;
  void* out = nullptr;
  PagedKv kv;
};

// `frames` runs of `tokens` rows, each attending to itself only.
struct FrameShape {
  int frames = 0;
  int tokens = 0;
  int heads = 0;
  int head_dim = 0;  // FlashInfer: 64 or 128
};

// Element (frame f, token t, head h, channel d) of q, k and v lies at
// (f * tokens + t) * token_stride + h * head_dim + d, for instance inside one activation
// [rows, 3, heads, head_dim]; out is contiguous [frames * tokens, heads, head_dim]. All bfloat16;
// sdpa also takes all float32.
struct FrameCall {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t token_stride = 0;
  void* out = nullptr;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_PAGED_H_
