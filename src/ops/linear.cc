#include "ops/linear.h"

#include "base/check.h"
#include "ops/cpu/linear.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

LinearWeights::LinearWeights() : packed_(std::make_unique<Packed>()) {}
LinearWeights::~LinearWeights() = default;
LinearWeights::LinearWeights(LinearWeights&&) noexcept = default;
LinearWeights& LinearWeights::operator=(LinearWeights&&) noexcept = default;

LinearWeights::LinearWeights(std::span<const float> weight, std::span<const float> bias,
                             std::span<const float> out_scale, int64_t out, int64_t in,
                             const Setup& setup)
    : LinearWeights() {
  const auto is_length = [](std::span<const float> values, int64_t length) {
    return static_cast<int64_t>(values.size()) == length;
  };
  Check(is_length(weight, out * in) && (bias.empty() || is_length(bias, out)) &&
            (out_scale.empty() || is_length(out_scale, out)),
        ErrorCode::kInternal, "LinearWeights: {} weights, {} biases, {} scales for [{}, {}]",
        weight.size(), bias.size(), out_scale.size(), out, in);
  packed_->in = in;
  packed_->out = out;
  packed_->storage = setup.storage;
  packed_->device = setup.device;
  packed_->bias = Buffer(DType::kF32, {out});
  float* folded_bias = packed_->bias.data<float>();
  for (int64_t o = 0; o < out; ++o) {
    folded_bias[o] = (bias.empty() ? 0.0f : bias[o]) * (out_scale.empty() ? 1.0f : out_scale[o]);
  }
  if (setup.on_gpu()) {
    cuda::PackLinear(weight, out_scale, *packed_);
  } else {
    cpu::PackLinear(weight, out_scale, *packed_);
  }
}

int64_t LinearWeights::in() const { return packed_->in; }
int64_t LinearWeights::out() const { return packed_->out; }
DType LinearWeights::storage() const { return packed_->storage; }
DType LinearWeights::input() const {
  return packed_->device == Device::kCpu ? DType::kF32 : packed_->storage;
}
size_t LinearWeights::bytes() const { return packed_->weight.bytes() + packed_->bias.bytes(); }

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
