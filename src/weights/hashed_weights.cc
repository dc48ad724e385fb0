#include "weights/hashed_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

uint64_t NameHash(uint64_t seed, std::string_view tensor) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a, 64 bits
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  };
  mix(std::to_string(seed));
  mix("/");
  mix(tensor);
  return hash;
}

// u * 2^23 of element `index`, in [-2^23, 2^23).
inline int32_t UniformStep(uint64_t base, uint64_t index) {
  uint64_t z = base + index + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<int32_t>(z >> 40) - (1 << 23);
}

constexpr double kStep = 1.0 / (1 << 23);

template <size_t kCount>
bool IsOneOf(std::string_view text, const std::array<std::string_view, kCount>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// "a.b.c" -> "c", and what is before it -> "a.b".
std::pair<std::string_view, std::string_view> SplitLast(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {name, {}};
  return {name.substr(dot + 1), name.substr(0, dot)};
}

bool IsLayerNorm(std::string_view module) {
  constexpr std::array<std::string_view, 7> kNames = {"norm",   "norm1",      "norm2",     "q_norm",
                                                      "k_norm", "token_norm", "trunk_norm"};
  return IsOneOf(module, kNames);
}

// Keeps the variance of a product's result near that of its input: u has variance 1/3.
float FanScale(std::string_view tensor, const Shape& shape) {
  const bool transposed =
      tensor.ends_with("resize_layers.0.weight") || tensor.ends_with("resize_layers.1.weight");
  int64_t fan = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) fan *= shape[axis];
  if (transposed) fan = shape[0];
  Check(fan > 0, ErrorCode::kInvalidArgument, "tensor '{}' of shape {} has no inputs", tensor,
        shape);
  const double gain = tensor.ends_with("pose_branch.fc2.weight")  ? 0.3
                      : tensor.ends_with("output_conv2.2.weight") ? 0.5
                                                                  : 1.0;
  const auto scale = static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan)));
  return static_cast<float>(static_cast<double>(scale) * gain);
}

}  // namespace

float HashedUniform(uint64_t seed, std::string_view tensor, uint64_t index) {
  return static_cast<float>(UniformStep(NameHash(seed, tensor), index) * kStep);
}

HashedRule RuleFor(std::string_view tensor, const Shape& shape, float fc2_bias_offset) {
  constexpr std::array<std::string_view, 3> kFrameTokens = {"camera_token", "register_token",
                                                            "scale_token"};
  constexpr std::array<std::string_view, 3> kEncoderTokens = {"cls_token", "register_tokens",
                                                              "pos_embed"};
  const auto [leaf, path] = SplitLast(tensor);
  const std::string_view module = SplitLast(path).first;
  if (IsLayerNorm(module) && leaf == "weight") {
    return module == "q_norm" ? HashedRule{0.5f, 2.0f} : HashedRule{0.25f, 1.0f};
  }
  if (IsLayerNorm(module) && leaf == "bias") return {0.1f, 0.0f};
  if (leaf == "gamma") return {0.2f, 0.4f};
  if (IsOneOf(leaf, kFrameTokens)) return {1.0f, 0.0f};
  if (IsOneOf(leaf, kEncoderTokens)) return {0.5f, 0.0f};
  if (leaf == "mask_token") return {0.0f, 0.0f};
  if (leaf == "empty_pose_tokens") return {0.1f, 0.0f};
  if (shape.rank() >= 2) return {FanScale(tensor, shape), 0.0f};
  if (tensor.ends_with("pose_branch.fc2.bias")) return {0.1f, fc2_bias_offset};
  Check(leaf == "bias", ErrorCode::kInvalidArgument,
        "no rule generates tensor '{}' of shape {}; use names of the released model", tensor,
        shape);
  return {0.1f, 0.0f};
}

HashedWeights::HashedWeights(const std::map<std::string, Shape>& shapes, uint64_t seed,
                             float fc2_bias_offset, std::map<std::string, std::string> metadata,
                             int threads)
    : metadata_(std::move(metadata)),
      name_(fmt::format("generated weights, seed {}", seed)),
      seed_(seed),
      fc2_bias_offset_(fc2_bias_offset),
      team_(threads) {
  for (const auto& [tensor, shape] : shapes) {
    RuleFor(tensor, shape, fc2_bias_offset_);
    infos_.emplace(tensor, TensorInfo{DType::kF32, shape});
  }
}

void HashedWeights::ReadFloats(const std::string& tensor, float* target) const {
  const Shape& shape = Find(tensor).shape;
  const HashedRule rule = RuleFor(tensor, shape, fc2_bias_offset_);
  const uint64_t base = NameHash(seed_, tensor);
  // Scaling by a power of two is exact, so the product equals u * scale.
  const double scale = rule.scale * kStep;
  const double offset = rule.offset;
  team_.ForRange(shape.elements(), 1 << 16, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      target[i] = static_cast<float>(UniformStep(base, static_cast<uint64_t>(i)) * scale + offset);
    }
  });
}

}  // namespace lingbot
