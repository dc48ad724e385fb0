#ifndef LINGBOT_OPS_CUDA_PLAIN_LINEAR_H_
#define LINGBOT_OPS_CUDA_PLAIN_LINEAR_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "ops/cuda/epilogue.h"

namespace lingbot::ops::cuda {

// One call of y = epilogue(alpha x W^T + b). Row-major everywhere: x [rows, in] and y [rows, out]
// with contiguous channels and any row stride, weight [out, in] contiguous and of x's type.
struct LinearCall {
  int64_t rows = 0, in = 0, out = 0;
  const void* x = nullptr;
  DType x_dtype = DType::kBF16;  // kBF16, kF16 or kF32; also the weight's
  int64_t x_stride = 0;
  const void* weight = nullptr;
  const float* bias = nullptr;  // [out], or nullptr
  const void* narrow_bias =
      nullptr;  // the same in y's 16-bit type; may be nullptr (see LinearPlans)
  void* y = nullptr;
  DType y_dtype = DType::kBF16;  // x's type or kF32
  int64_t y_stride = 0;
  Epilogue epilogue = Epilogue::kStore;
  float alpha = 1.0f;
};

// The definition, for shapes that the library refuses and as the twin that checks compare with:
// tiles in shared memory, products and sums in float32, no matrix units.
void PlainLinear(const LinearCall& call, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_PLAIN_LINEAR_H_
