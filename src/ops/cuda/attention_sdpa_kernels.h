#ifndef LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_
#define LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_

#include <cstdint>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Copies the first `tokens` visible rows of K and V, `row_bytes` each (a multiple of 16), to
// contiguous memory. Strides of `kv` in elements of element_bytes.
void GatherRows(const PagedKv& kv, int page_size, int64_t tokens, int row_bytes, int element_bytes,
                void* k_rows, void* v_rows, CudaStream stream);

// probabilities[r, :columns] = softmax(scores[r, :columns]), both with rows of `stride` elements, a
// multiple of 8. The float32 version may work in place.
void SoftmaxRowsF32(const float* scores, int64_t rows, int64_t columns, int64_t stride,
                    float* probabilities, CudaStream stream);
void SoftmaxRowsBF16(const float* scores, int64_t rows, int64_t columns, int64_t stride,
                     void* probabilities, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_SDPA_KERNELS_H_
