#ifndef LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNELS_H_
#define LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNELS_H_

#include <cstdint>

#include "ops/cuda/attention_layout.h"
#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// All that one launch needs; device pointers. Arrays of `work` are at the positions of `layout`.
struct Fa3Launch {
  const void* q = nullptr;
  int64_t q_token_stride = 0;
  int q_rows = 0;  // of all frames
  PagedKv kv;
  int page_size = 0;
  int heads = 0;
  float scale = 0;
  Fa3Layout layout;
  int32_t* work = nullptr;
  void* out = nullptr;        // [q_rows, heads, head_dim] bf16; unused with parts
  float* parts = nullptr;     // [segments, q_rows, heads, head_dim]; null: one segment, no merge
  float* part_lse = nullptr;  // [segments, q_rows, heads], base 2
};

// One translation unit each: a kernel takes its compiler 3 GB.
void LaunchFa3HeadDim64(const Fa3Launch& launch, CudaStream stream);
void LaunchFa3HeadDim128(const Fa3Launch& launch, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNELS_H_
