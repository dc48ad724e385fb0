#ifndef LINGBOT_OPS_CPU_REFERENCE_CONV_H_
#define LINGBOT_OPS_CPU_REFERENCE_CONV_H_

#include "ops/conv.h"

namespace lingbot::ops::reference {

// x [rows, columns, in], weight [out, in, size, size], bias [out] or nullptr, padding size/2; plain
// loops in double.
void Conv2d(const TensorView& x, const TensorView& weight, const float* bias, int stride,
            ConvEpilogue epilogue, const TensorView& y);

}  // namespace lingbot::ops::reference

#endif  // LINGBOT_OPS_CPU_REFERENCE_CONV_H_
