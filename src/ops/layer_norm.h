#ifndef LINGBOT_OPS_LAYER_NORM_H_
#define LINGBOT_OPS_LAYER_NORM_H_

#include "ops/context.h"

namespace lingbot::ops {

// y = (x - mean) / sqrt(variance + eps) * gamma + beta over the channels of each row; statistics in
// float32 or better, biased variance. x and y are [rows, channels] with contiguous channels and any
// row stride, and may be the same memory: float32, y on a GPU also bfloat16 or float16. gamma and
// beta are [channels] float32.
void LayerNorm(Context& context, const TensorView& x, const TensorView& gamma,
               const TensorView& beta, float eps, const TensorView& y);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_LAYER_NORM_H_
