#ifndef LINGBOT_OPS_CUDA_ATTENTION_FA2_KERNELS_H_
#define LINGBOT_OPS_CUDA_ATTENTION_FA2_KERNELS_H_

#include <cstdint>

#include "ops/cuda/attention_layout.h"
#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// All that one launch needs; device pointers. Arrays of `work` are at the positions of `layout`.
struct Fa2Launch {
  const void* q = nullptr;
  int64_t q_token_stride = 0;
  PagedKv kv;
  int page_size = 0;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  Fa2Layout layout;
  int32_t* work = nullptr;
  void* out = nullptr;
  void* parts = nullptr;      // [rows * chunks, heads, head_dim] bf16; null: one chunk, no merge
  float* part_lse = nullptr;  // [rows * chunks, heads]
};

void LaunchFa2(const Fa2Launch& launch, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_FA2_KERNELS_H_
