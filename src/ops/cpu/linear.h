#ifndef LINGBOT_OPS_CPU_LINEAR_H_
#define LINGBOT_OPS_CPU_LINEAR_H_

#include <span>

#include "ops/packed_weights.h"

namespace lingbot::ops {

namespace cpu {

struct Rows {
  float* data;
  int64_t count;
  int64_t stride;  // elements from row to row
};

// Fills packed.weight; everything else is set.
void PackLinear(std::span<const float> weight, std::span<const float> out_scale,
                LinearWeights::Packed& packed);

// Pointers are valid and shapes agree: ops::Linear has checked.
void Linear(Context& context, Rows x, const LinearWeights::Packed& weights, LinearEpilogue epilogue,
            Rows y);

}  // namespace cpu
}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_LINEAR_H_
