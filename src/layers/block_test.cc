#include "layers/block.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/attention.h"
#include "ops/cpu/reference/linear.h"
#include "ops/layer_norm.h"
#include "ops/test_util.h"
#include "weights/hashed_weights.h"

namespace lingbot {
namespace {

constexpr int64_t kChannels = 64;
constexpr BlockShape kShape{kChannels, 2, 4 * kChannels};
const std::string kPrefix = "aggregator.frame_blocks.0.";

HashedWeights BlockSource() {
  std::map<std::string, Shape> shapes;
  const auto add = [&](const std::string& name, const Shape& shape) {
    shapes[kPrefix + name] = shape;
  };
  for (const char* norm : {"norm1", "norm2"}) {
    add(std::string(norm) + ".weight", {kChannels});
    add(std::string(norm) + ".bias", {kChannels});
  }
  for (const char* norm : {"attn.q_norm", "attn.k_norm"}) {
    add(std::string(norm) + ".weight", {kChannels / 2});
    add(std::string(norm) + ".bias", {kChannels / 2});
  }
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  linear("attn.qkv", 3 * kChannels, kChannels);
  linear("attn.proj", kChannels, kChannels);
  linear("mlp.fc1", 4 * kChannels, kChannels);
  linear("mlp.fc2", kChannels, 4 * kChannels);
  add("ls1.gamma", {kChannels});
  add("ls2.gamma", {kChannels});
  return HashedWeights(shapes, 5, 0.0f, {}, 1);
}

// The tensors as they are in the source, nothing folded.
class PlainBlock {
 public:
  PlainBlock(const TensorSource& source, ops::Context& context)
      : source_(source), context_(context) {}

  // x += scale * (rows W^T + b), LayerScale applied after the product.
  void AddScaled(const TensorView& rows, const std::string& name, const std::string& scale,
                 const TensorView& x) const {
    const Buffer product(DType::kF32, x.shape());
    Multiply(rows, name, ops::LinearEpilogue::kStore, product.view());
    const Buffer gamma = Get(scale + ".gamma");
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.data<float>()[i] += gamma.data<float>()[i % kChannels] * product.data<float>()[i];
    }
  }

  void Multiply(const TensorView& rows, const std::string& name, ops::LinearEpilogue epilogue,
                const TensorView& out) const {
    const Buffer weight = Get(name + ".weight");
    const Buffer bias = Get(name + ".bias");
    ops::reference::Linear(rows, weight.view(), bias.data<float>(), epilogue, out);
  }

  Buffer Norm(const TensorView& x, const std::string& name) const {
    Buffer out(DType::kF32, x.shape());
    const Buffer gamma = Get(name + ".weight");
    const Buffer beta = Get(name + ".bias");
    ops::LayerNorm(context_, x, gamma.view(), beta.view(), 1e-5f, out.view());
    return out;
  }

 private:
  Buffer Get(const std::string& name) const {
    const std::string full = kPrefix + name;
    return source_.Read(full, source_.tensors().at(full).shape);
  }

  const TensorSource& source_;
  ops::Context& context_;
};

TEST(EncoderBlock, EqualsItsDefinitionWithLayerScaleUnfolded) {
  constexpr int64_t kFrames = 3, kTokens = 7;
  const HashedWeights source = BlockSource();
  const BlockWeights weights = LoadBlock(source, kPrefix, kShape, 1e-5f, {});
  const size_t workspace =
      BlockWorkspaceBytes(kShape, {.attention = AttentionBackend::kReference, .threads = 2},
                          kFrames * kTokens, kTokens);
  ops::Context context(2, workspace);
  ops::Profile profile;
  const Buffer x = RandomFloats({kFrames * kTokens, kChannels}, 1);
  EncoderBlock({context, profile, AttentionBackend::kReference}, weights, kFrames, x.view());
  EXPECT_LE(context.arena().high_water(), workspace);

  ops::Context plain_context(1, 1 << 22);
  const PlainBlock plain(source, plain_context);
  const Buffer expected = RandomFloats({kFrames * kTokens, kChannels}, 1);
  const Buffer qkv(DType::kF32, {kFrames * kTokens, 3 * kChannels});
  plain.Multiply(plain.Norm(expected.view(), "norm1").view(), "attn.qkv",
                 ops::LinearEpilogue::kStore, qkv.view());
  const TensorView heads = qkv.view().Reshape({kFrames, kTokens, 3, 2, kChannels / 2});
  const Buffer attended(DType::kF32, {kFrames * kTokens, kChannels});
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    const auto part = [&](int64_t index) {
      return TensorView(heads[frame].Slice(1, index, index + 1).raw(), DType::kF32,
                        {kTokens, 2, kChannels / 2}, {3 * kChannels, kChannels / 2, 1});
    };
    ops::DenseAttention(plain_context, AttentionBackend::kReference, part(0), part(1), part(2),
                        attended.view()
                            .Slice(0, frame * kTokens, (frame + 1) * kTokens)
                            .Reshape({kTokens, 2, kChannels / 2}));
  }
  plain.AddScaled(attended.view(), "attn.proj", "ls1", expected.view());
  const Buffer hidden(DType::kF32, {kFrames * kTokens, 4 * kChannels});
  plain.Multiply(plain.Norm(expected.view(), "norm2").view(), "mlp.fc1", ops::LinearEpilogue::kGelu,
                 hidden.view());
  plain.AddScaled(hidden.view(), "mlp.fc2", "ls2", expected.view());
  EXPECT_LT(RelativeL2(x.view(), expected.view()), 1e-6);
}

TEST(LoadRotaryBlock, NamesAMissingTensor) {
  const HashedWeights source = BlockSource();
  EXPECT_NO_THROW(LoadRotaryBlock(source, kPrefix, kShape, 1e-5f, {.storage = DType::kBF16}));
  EXPECT_THROW(LoadBlock(source, "aggregator.frame_blocks.1.", kShape, 1e-5f, {}), Error);
  EXPECT_THROW(LoadBlock(source, kPrefix, {kChannels, 2, 3 * kChannels}, 1e-5f, {}), Error);
}

// No pair of normalised vectors gives a larger score than the bound; the largest possible comes
// close.
TEST(LoadRotaryBlock, BoundsItsScores) {
  const HashedWeights source = BlockSource();
  const RotaryBlockWeights weights = LoadRotaryBlock(source, kPrefix, kShape, 1e-5f, {});
  const int64_t d = kShape.head_dim();
  double most = 0.0;
  for (int64_t only = 0; only < d; ++only) {
    for (const double sign : {-1.0, 1.0}) {
      double dot = 0.0;
      for (int64_t i = 0; i < d; ++i) {
        // The normalised vector with one large channel.
        const double n = (i == only ? sign * static_cast<double>(d - 1) : -sign) /
                         std::sqrt(static_cast<double>(d - 1));
        dot += (n * weights.q_norm.gamma.data<float>()[i] + weights.q_norm.beta.data<float>()[i]) *
               (n * weights.k_norm.gamma.data<float>()[i] + weights.k_norm.beta.data<float>()[i]);
      }
      most = std::max(most, std::abs(dot) / std::sqrt(static_cast<double>(d)));
    }
  }
  EXPECT_LE(most, weights.score_bound);
  EXPECT_GT(most, weights.score_bound / 4);
}

TEST(StorageForBounded, HalfPrecisionOnAGpuWhereNothingCanOverflow) {
  const ops::Setup gpu{Device::kCuda, 0, DType::kBF16};
  const std::vector<float> bias = {0.5f, -0.5f};
  const auto storage = [&](float last, double longest, const ops::Setup& setup) {
    const std::vector<float> weight = {1.0f, -2.0f, 0.0f, last};
    return StorageForBounded(weight, bias, longest, setup);
  };
  EXPECT_EQ(storage(3.0f, 100.0, gpu), DType::kF16);
  EXPECT_EQ(storage(3.0f, 10900.0, gpu), DType::kF16);   // 32,700.5
  EXPECT_EQ(storage(3.0f, 11000.0, gpu), DType::kBF16);  // 33,000.5
  EXPECT_EQ(storage(-400.0f, 100.0, gpu), DType::kBF16);
  EXPECT_EQ(storage(0.1f, 40000.0, gpu), DType::kBF16);
  EXPECT_EQ(storage(std::nanf(""), 100.0, gpu), DType::kBF16);
  EXPECT_EQ(storage(INFINITY, 100.0, gpu), DType::kBF16);
  EXPECT_EQ(storage(3.0f, 100.0, gpu.With(DType::kF32)), DType::kF32);
  EXPECT_EQ(storage(3.0f, 100.0, {Device::kCpu, 0, DType::kBF16}), DType::kBF16);
}

}  // namespace
}  // namespace lingbot
