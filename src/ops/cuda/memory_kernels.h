#ifndef LINGBOT_OPS_CUDA_MEMORY_KERNELS_H_
#define LINGBOT_OPS_CUDA_MEMORY_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace lingbot::ops::cuda {

// target[r, c] = source[r, c] * scale[r] (or 1 without a scale) as `dtype`, rounded to nearest.
void ScaleRows(const float* source, const float* scale, int64_t rows, int64_t columns, void* target,
               DType dtype, cudaStream_t stream);

// Row i of k and v [rows, width] (row_stride apart) goes to row *first + i of the targets
// (target_stride apart).
void StoreRowsBehind(const float* k, const float* v, int64_t row_stride, int64_t rows,
                     int64_t width, const int32_t* first, float* k_target, float* v_target,
                     int64_t target_stride, cudaStream_t stream);

// Between scattered rows of `plane` and rows of `packed`, row_bytes (a multiple of 4) each.
void PackRows(const std::byte* plane, const int64_t* offsets, int64_t rows, int64_t row_bytes,
              std::byte* packed, cudaStream_t stream);
void UnpackRows(const std::byte* packed, const int64_t* offsets, int64_t rows, int64_t row_bytes,
                std::byte* plane, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_MEMORY_KERNELS_H_
