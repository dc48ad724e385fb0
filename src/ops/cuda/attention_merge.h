#ifndef LINGBOT_OPS_CUDA_ATTENTION_MERGE_H_
#define LINGBOT_OPS_CUDA_ATTENTION_MERGE_H_

#include <cstdint>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Joins the softmaxes of disjoint sets of keys:
//   out[row, channel] = sum_s 2^(lse[s, row] - m) parts[s, row, channel] / sum_s 2^(lse[s, row] -
//   m)
// with m the greatest lse of the row. A row is one (token, head).
//   parts [segments, rows, head_dim] float32, lse [segments, rows] base 2, out [rows, head_dim]
//   bf16
// `segments` (1 or more) is read from device memory.
void MergeParts(const float* parts, const float* lse, const int32_t* segments, int64_t rows,
                int head_dim, void* out, CudaStream stream);
// out in bfloat16 or float32; `segments` is a constant of the launch.
void MergeFixedParts(const float* parts, const float* lse, int segments, int64_t rows, int head_dim,
                     void* out, bool out_f32, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_MERGE_H_
