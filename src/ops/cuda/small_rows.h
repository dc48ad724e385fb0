#ifndef LINGBOT_OPS_CUDA_SMALL_ROWS_H_
#define LINGBOT_OPS_CUDA_SMALL_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/cuda/epilogue.h"

namespace lingbot::ops::cuda {

inline constexpr int64_t kMaxSmallRows = 16;

// y = epilogue(x W^T + b) for at most kMaxSmallRows rows, all float32: reads the weights once, at
// the speed of memory. x [rows, in] and y [rows, out] with row strides, weight [out, in]
// contiguous, bias [out] or nullptr. y must not overlap x.
struct SmallRowsProduct {
  int64_t rows = 0, in = 0, out = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  Epilogue epilogue = Epilogue::kStore;
};
void SmallRowsLinear(const SmallRowsProduct& product, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_SMALL_ROWS_H_
