#ifndef LINGBOT_OPS_CPU_ROTARY_H_
#define LINGBOT_OPS_CPU_ROTARY_H_

#include "ops/rotary.h"

namespace lingbot::ops::cpu {

void NormRotate(Context& context, const TensorView& x, const HeadNorm& norm,
                const RotaryTable& table);

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_ROTARY_H_
