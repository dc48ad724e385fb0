#include "ops/linear.h"

#include "base/check.h"
#include "ops/cpu/linear.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

void Linear(Context& context, const TensorView& x, const LinearWeights& weights,
            LinearEpilogue epilogue, const TensorView& y) {
  const bool fits = x.rank() == 2 && y.rank() == 2 && x.dim(0) == y.dim(0) &&
                    x.dim(1) == weights.in() && y.dim(1) == weights.out() && x.stride(1) == 1 &&
                    y.stride(1) == 1 && x.stride(0) >= x.dim(1) && y.stride(0) >= y.dim(1);
  Check(fits, ErrorCode::kInternal, "Linear: x {} and y {} do not fit weights [{}, {}]", x.shape(),
        y.shape(), weights.out(), weights.in());
  if (x.dim(0) == 0) return;
  Check(weights.packed().device == context.setup().device, ErrorCode::kInternal,
        "Linear: the weights are on another device than the context");
  if (context.setup().on_gpu()) return cuda::Linear(context, x, weights.packed(), epilogue, y);
  cpu::Linear(context, {x.data<float>(), x.dim(0), x.stride(0)}, weights.packed(), epilogue,
              {y.data<float>(), y.dim(0), y.stride(0)});
}

}  // namespace lingbot::ops
