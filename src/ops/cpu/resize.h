#ifndef LINGBOT_OPS_CPU_RESIZE_H_
#define LINGBOT_OPS_CPU_RESIZE_H_

#include "ops/context.h"

namespace lingbot::ops::cpu {

void ResizeBilinear(Context& context, const TensorView& x, const TensorView& y);
void ResizeBicubicAntialiased(const TensorView& x, const TensorView& y);

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_RESIZE_H_
