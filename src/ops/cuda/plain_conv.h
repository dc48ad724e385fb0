#ifndef LINGBOT_OPS_CUDA_PLAIN_CONV_H_
#define LINGBOT_OPS_CUDA_PLAIN_CONV_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "ops/cuda/epilogue.h"

namespace lingbot::ops::cuda {

// A square convolution with padding size/2. x [rows, columns, in], kernel [out, size, size, in], y
// [OutputSize(rows), OutputSize(columns), out], all `dtype` (f16 or float32), contiguous.
struct ConvShape {
  int64_t rows = 0, columns = 0;
  int64_t in = 0, out = 0;
  int size = 3;
  int stride = 1;
  DType dtype = DType::kF16;
  bool bias = true;
  Epilogue epilogue = Epilogue::kStore;  // kStore, kRelu or kAccumulate

  int64_t OutputSize(int64_t input) const { return (input + 2 * (size / 2) - size) / stride + 1; }
};

struct ConvOperands {
  const void* x = nullptr;
  const void* kernel = nullptr;
  const float* bias = nullptr;  // [out] if ConvShape::bias
  void* y = nullptr;
};

// The definition, for shapes that the library refuses and as the twin that checks compare with: a
// product over gathered pixels in shared-memory tiles, sums in float32, no matrix units.
void PlainConv(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_PLAIN_CONV_H_
