#ifndef LINGBOT_OPS_CPU_REFERENCE_LINEAR_H_
#define LINGBOT_OPS_CPU_REFERENCE_LINEAR_H_

#include "ops/linear.h"

namespace lingbot::ops::reference {

// y [rows, out] from x [rows, in], weight [out, in] and bias [out] (or nullptr) by plain loops in
// double.
void Linear(const TensorView& x, const TensorView& weight, const float* bias,
            LinearEpilogue epilogue, const TensorView& y);

}  // namespace lingbot::ops::reference

#endif  // LINGBOT_OPS_CPU_REFERENCE_LINEAR_H_
