#ifndef LINGBOT_OPS_CPU_CONV_H_
#define LINGBOT_OPS_CPU_CONV_H_

#include "ops/conv.h"

namespace lingbot::ops {

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

namespace cpu {

struct Plane {
  float* data;  // [rows, columns, channels]
  int64_t rows;
  int64_t columns;
};

void Conv2d(Context& context, Plane x, const ConvWeights::Packed& weights, ConvEpilogue epilogue,
            Plane y);

}  // namespace cpu
}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_CONV_H_
