#ifndef LINGBOT_OPS_CUDA_ATTENTION_ENTRY_H_
#define LINGBOT_OPS_CUDA_ATTENTION_ENTRY_H_

#include <cstddef>
#include <cstdint>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Attention of a few rows over a long list of entries, float32, limited by memory: the camera head.
struct EntryShape {
  int rows = 0;  // queries, 1 .. 16
  int heads = 0;
  int head_dim = 0;  // a multiple of 4 up to 256
  int capacity = 0;  // most entries that `count` may say
};

struct EntryCall {
  const float* q = nullptr;  // [rows, heads, head_dim] with rows q_row_stride elements apart
  int64_t q_row_stride = 0;
  const float* k = nullptr;  // [capacity, heads, head_dim]; entries behind count may be anything
  const float* v = nullptr;  // likewise
  int64_t entry_stride = 0;  // elements from an entry of k and v to the next
  const int32_t* count = nullptr;  // device memory: entries to attend to; 0 gives zeros
  float* out = nullptr;            // [rows, heads, head_dim], contiguous
};

size_t EntryWorkspace(const EntryShape& shape);
// Once before the first use of a workspace, and after a launch that failed.
void ClearEntryWorkspace(const EntryShape& shape, void* workspace, CudaStream stream);

// softmax(q k^T / sqrt(head_dim)) v over entries 0 .. *count - 1, one launch, may be captured; the
// count is read when the kernel runs. Pointers aligned to 16 bytes. Calls that share a workspace
// must follow each other on one stream. The same count gives the same bits.
void EntryAttention(const EntryShape& shape, const EntryCall& call, void* workspace,
                    CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_ENTRY_H_
