#ifndef LINGBOT_OPS_CPU_CONV_H_
#define LINGBOT_OPS_CPU_CONV_H_

#include <span>

#include "ops/packed_weights.h"

namespace lingbot::ops {

namespace cpu {

struct Plane {
  float* data;  // [rows, columns, channels]
  int64_t rows;
  int64_t columns;
};

// Fills packed.weight; everything else is set.
void PackConv(std::span<const float> weight, ConvWeights::Packed& packed);

void Conv2d(Context& context, Plane x, const ConvWeights::Packed& weights, ConvEpilogue epilogue,
            Plane y);

}  // namespace cpu
}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_CONV_H_
