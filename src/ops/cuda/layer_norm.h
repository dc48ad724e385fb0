#ifndef LINGBOT_OPS_CUDA_LAYER_NORM_H_
#define LINGBOT_OPS_CUDA_LAYER_NORM_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace lingbot::ops::cuda {

// Rows in groups (frames, say): row r lies at (r / group_rows) * group_stride + (r % group_rows) *
// stride elements.
struct RowLayout {
  int64_t stride = 0;
  int64_t group_stride = 0;
};

struct LayerNormShape {
  int64_t rows = 0;
  int64_t channels = 0;
  int64_t group_rows = 0;  // 0: all rows are one group
  RowLayout x;
  RowLayout y;
};

// y = (x - mean) / sqrt(variance + eps) * gamma + beta over the channels of each row. x float32; y
// float32, bf16 or f16; gamma and beta [channels] float32. y may be x itself. Statistics in two
// passes in float32.
void LayerNorm(const LayerNormShape& shape, const float* x, const float* gamma, const float* beta,
               float eps, void* y, DType y_dtype, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_LAYER_NORM_H_
