#include "ops/rotary.h"

#include "base/check.h"
#include "ops/cpu/rotary.h"

namespace lingbot::ops {

void NormRotate(Context& context, const TensorView& x, const TensorView& gamma,
                const TensorView& beta, float eps, const RotaryTable& table) {
  const bool fits = x.rank() == 3 && x.stride(2) == 1 && x.dim(2) % 4 == 0 && x.dim(2) > 0 &&
                    gamma.shape() == Shape{x.dim(2)} && beta.shape() == gamma.shape() &&
                    table.cos.rank() == 2 && table.cos.dim(1) == x.dim(2) / 2 &&
                    table.cos.dim(0) > 0 && table.sin.shape() == table.cos.shape() &&
                    table.cos.contiguous() && table.sin.contiguous();
  Check(fits, ErrorCode::kInternal, "NormRotate: x {}, gamma {}, table {} do not fit", x.shape(),
        gamma.shape(), table.cos.shape());
  cpu::NormRotate(context, x, {gamma.data<float>(), beta.data<float>(), eps}, table);
}

}  // namespace lingbot::ops
