#ifndef LINGBOT_OPS_CPU_LINEAR_H_
#define LINGBOT_OPS_CPU_LINEAR_H_

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
  Buffer weight;
  Buffer bias;         // [out] f32
  Buffer narrow_bias;  // the same as `storage`, where a GPU's library wants it so
};

namespace cpu {

struct Rows {
  float* data;
  int64_t count;
  int64_t stride;  // elements from row to row
};

// Pointers are valid and shapes agree: ops::Linear has checked.
void Linear(Context& context, Rows x, const LinearWeights::Packed& weights, LinearEpilogue epilogue,
            Rows y);

}  // namespace cpu
}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_LINEAR_H_
