#include "ops/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/thread_team.h"
#include "ops/cpu/linear.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {
namespace {

// The larger of the magnitudes as integers: vectorises, and NaN counts as more than infinity.
float LargestMagnitude(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu);
  }
  return std::bit_cast<float>(largest);
}

}  // namespace

float CentreForHalf(std::span<const float> weight, std::span<float> row_factors,
                    const ThreadTeam& team) {
  constexpr float kLargest = 1024.0f;
  const auto rows = static_cast<int64_t>(row_factors.size());
  const size_t columns = weight.size() / std::max<size_t>(row_factors.size(), 1);
  std::vector<float> of_row(row_factors.size());
  team.ForRange(rows, 16, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      of_row[row] =
          LargestMagnitude(weight.subspan(row * columns, columns)) * std::abs(row_factors[row]);
    }
  });
  float largest = 0.0f;
  for (const float value : of_row) {
    if (!(value <= largest)) largest = value;
    if (std::isnan(largest)) return 1.0f;
  }
  if (largest == 0.0f || std::isinf(largest)) return 1.0f;
  const int exponent = static_cast<int>(std::floor(std::log2(kLargest / largest)));
  const float power = std::ldexp(1.0f, std::min(exponent, 120));  // 1 / power stays normal
  for (float& factor : row_factors) factor *= power;
  return 1.0f / power;
}

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
  if (setup.on_gpu() && setup.storage == DType::kF16) {
    std::vector<float> factors(out_scale.begin(), out_scale.end());
    factors.resize(static_cast<size_t>(out), 1.0f);
    packed_->factor = CentreForHalf(weight, factors, ThreadTeam(setup.threads));
    cuda::PackLinear(weight, factors, *packed_);
  } else if (setup.on_gpu()) {
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
