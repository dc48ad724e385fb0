#include "ops/layer_norm.h"

#include "base/check.h"
#include "ops/cpu/layer_norm.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

void LayerNorm(Context& context, const TensorView& x, const TensorView& gamma,
               const TensorView& beta, float eps, const TensorView& y) {
  const bool fits = x.rank() == 2 && x.shape() == y.shape() && x.stride(1) == 1 &&
                    y.stride(1) == 1 && x.dim(1) > 0 && gamma.shape() == Shape{x.dim(1)} &&
                    beta.shape() == gamma.shape() && gamma.contiguous() && beta.contiguous();
  Check(fits, ErrorCode::kInternal, "LayerNorm: x {}, y {}, gamma {}, beta {} do not fit",
        x.shape(), y.shape(), gamma.shape(), beta.shape());
  if (context.setup().on_gpu()) return cuda::LayerNorm(context, x, gamma, beta, eps, y);
  const float* source = x.data<float>();
  float* target = y.data<float>();
  const float* scale = gamma.data<float>();
  const float* shift = beta.data<float>();
  context.team().ForRange(x.dim(0), 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      cpu::NormalizeRow(source + row * x.stride(0), x.dim(1), scale, shift, eps,
                        target + row * y.stride(0));
    }
  });
}

}  // namespace lingbot::ops
