#include "ops/conv.h"

#include "base/check.h"
#include "ops/cpu/conv.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

int64_t ConvWeights::in() const { return packed_->in; }
int64_t ConvWeights::out() const { return packed_->out; }
size_t ConvWeights::bytes() const { return packed_->weight.bytes() + packed_->bias.bytes(); }

int64_t ConvWeights::OutputSize(int64_t input_size) const {
  return ConvOutputSize(input_size, packed_->size, packed_->stride);
}

int64_t ConvOutputSize(int64_t input_size, int size, int stride) {
  return (input_size + 2 * (size / 2) - size) / stride + 1;
}

void Conv2d(Context& context, const TensorView& x, const ConvWeights& weights,
            ConvEpilogue epilogue, const TensorView& y) {
  const bool fits = x.rank() == 3 && y.rank() == 3 && x.dim(2) == weights.in() &&
                    y.dim(2) == weights.out() && x.contiguous() && y.contiguous() && x.dim(0) > 0 &&
                    x.dim(1) > 0 && y.dim(0) == weights.OutputSize(x.dim(0)) &&
                    y.dim(1) == weights.OutputSize(x.dim(1));
  Check(fits, ErrorCode::kInternal, "Conv2d: x {} and y {} do not fit {} to {} channels", x.shape(),
        y.shape(), weights.in(), weights.out());
  Check(weights.packed().device == context.setup().device, ErrorCode::kInternal,
        "Conv2d: the weights are on another device than the context");
  if (context.setup().on_gpu()) return cuda::Conv2d(context, x, weights.packed(), epilogue, y);
  cpu::Conv2d(context, {x.data<float>(), x.dim(0), x.dim(1)}, weights.packed(), epilogue,
              {y.data<float>(), y.dim(0), y.dim(1)});
}

}  // namespace lingbot::ops
