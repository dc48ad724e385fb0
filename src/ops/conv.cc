#include "ops/conv.h"

#include <algorithm>

#include "base/check.h"
#include "ops/cpu/conv.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

ConvWeights::ConvWeights() : packed_(std::make_unique<Packed>()) {}
ConvWeights::~ConvWeights() = default;
ConvWeights::ConvWeights(ConvWeights&&) noexcept = default;
ConvWeights& ConvWeights::operator=(ConvWeights&&) noexcept = default;

ConvWeights::ConvWeights(std::span<const float> weight, std::span<const float> bias, int64_t out,
                         int64_t in, int size, int stride, const Setup& setup)
    : ConvWeights() {
  Check(static_cast<int64_t>(weight.size()) == out * in * size * size &&
            (bias.empty() || static_cast<int64_t>(bias.size()) == out),
        ErrorCode::kInternal, "ConvWeights: {} weights, {} biases for [{}, {}, {}, {}]",
        weight.size(), bias.size(), out, in, size, size);
  packed_->in = in;
  packed_->out = out;
  packed_->size = size;
  packed_->stride = stride;
  packed_->bias = Buffer(DType::kF32, {out});
  std::fill_n(packed_->bias.data<float>(), out, 0.0f);
  std::copy(bias.begin(), bias.end(), packed_->bias.data<float>());
  packed_->storage = setup.storage;
  packed_->device = setup.device;
  packed_->has_bias = !bias.empty();
  if (setup.on_gpu()) {
    cuda::PackConv(weight, *packed_);
  } else {
    cpu::PackConv(weight, *packed_);
  }
}

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
