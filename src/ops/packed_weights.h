#ifndef LINGBOT_OPS_PACKED_WEIGHTS_H_
#define LINGBOT_OPS_PACKED_WEIGHTS_H_

#include "ops/conv.h"
#include "ops/linear.h"

namespace lingbot::ops {

// Row-major [out, in], or an opaque layout that the CPU's matrix library chose for it. On a GPU
// weight and bias are in its memory.
struct LinearWeights::Packed {
  int64_t in = 0;
  int64_t out = 0;
  DType storage = DType::kF32;
  Device device = Device::kCpu;
  bool opaque = false;  // `weight` is in the library's own order, held as bytes
  float factor = 1.0f;  // the weights are `weight` times this power of two
  Buffer weight;
  Buffer bias;         // [out] f32
  Buffer narrow_bias;  // the same as `storage`, where a GPU's library wants it so
};

// The kernel is in the matrix library's own order; on a GPU [out, size, size, in] in its memory.
struct ConvWeights::Packed {
  int64_t in = 0;
  int64_t out = 0;
  int size = 0;
  int stride = 1;
  DType storage = DType::kF32;
  Device device = Device::kCpu;
  bool has_bias = true;
  Buffer weight;
  Buffer bias;  // [out] f32
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_PACKED_WEIGHTS_H_
