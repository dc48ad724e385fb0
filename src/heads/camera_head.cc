#include "heads/camera_head.h"

#include <algorithm>
#include <utility>

#include "ops/elementwise.h"
#include "ops/layer_norm.h"

namespace lingbot {

using ops::LinearEpilogue;

namespace {

constexpr float kEps = 1e-5f;
constexpr float kPlainEps = 1e-6f;

NormWeights PlainNorm(int64_t channels, const ops::Setup& setup) {
  Buffer ones(DType::kF32, {channels});
  Buffer zeros(DType::kF32, {channels});
  std::fill_n(ones.data<float>(), channels, 1.0f);
  std::fill_n(zeros.data<float>(), channels, 0.0f);
  return {OnDevice(std::move(ones), setup), OnDevice(std::move(zeros), setup), kPlainEps};
}

}  // namespace

BlockShape CameraBlockShape(const ModelConfig& config) {
  const int64_t channels = 2 * int64_t{config.embed_dim};
  return {channels, config.camera_heads, config.mlp_ratio * channels};
}

CameraHead::CameraHead(const TensorSource& source, const ModelConfig& config,
                       const ops::Setup& setup)
    : channels_(2 * int64_t{config.embed_dim}) {
  const std::string prefix = "camera_head.";
  const int64_t c = channels_;
  const ops::Setup full = setup.With(DType::kF32);
  token_norm_ = LoadNorm(source, prefix + "token_norm", c, kEps, full);
  plain_norm_ = PlainNorm(c, full);
  empty_pose_ = LoadTable(source, prefix + "empty_pose_tokens", {1, 1, kPoseSize}, full);
  embed_pose_ = LoadLinear(source, prefix + "embed_pose", c, kPoseSize, full);
  modulation_ = LoadLinear(source, prefix + "poseLN_modulation.1", 3 * c, c, full);
  const BlockShape shape = CameraBlockShape(config);
  for (int i = 0; i < config.camera_depth; ++i) {
    trunk_.push_back(
        LoadBlock(source, prefix + "trunk." + std::to_string(i) + ".", shape, kEps, full));
  }
  trunk_norm_ = LoadNorm(source, prefix + "trunk_norm", c, kEps, full);
  branch_fc1_ = LoadLinear(source, prefix + "pose_branch.fc1", c / 2, c, full);
  branch_fc2_ = LoadLinear(source, prefix + "pose_branch.fc2", kPoseSize, c / 2, full);
}

void CameraHead::Forward(const BlockContext& block_context, const TensorView& tokens, int passes,
                         KvCache& cache, const TensorView& poses, const Observer& observer) const {
  BlockContext context = block_context;
  context.activations = DType::kF32;
  const ops::Profile::Scope stage(context.profile, ops::Stage::kCamera);
  const int64_t frames = tokens.dim(0);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView normed = arena.Floats({frames, channels_});
  const TensorView plain = arena.Floats({frames, channels_});
  const TensorView raw = arena.Floats({frames, kPoseSize});
  ops::LayerNorm(context.ops, tokens, token_norm_.gamma.view(), token_norm_.beta.view(),
                 token_norm_.eps, normed);
  ops::LayerNorm(context.ops, normed, plain_norm_.gamma.view(), plain_norm_.beta.view(),
                 plain_norm_.eps, plain);
  for (int pass = 0; pass < passes; ++pass) {
    Refine(context, normed, plain, pass, cache, raw);
    ops::ActivatePose(context.ops, raw, poses);
    if (observer) observer("pose_iter", pass, poses);
  }
}

// One pass: `raw` [frames, 9] holds the running estimate, unused in pass 0. The raw sum is what
// goes on, not the activated pose.
void CameraHead::Refine(const BlockContext& context, const TensorView& normed,
                        const TensorView& plain, int pass, KvCache& cache,
                        const TensorView& raw) const {
  const int64_t frames = normed.dim(0);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView x = arena.Floats({frames, channels_});
  {
    const Arena::Scope inner(arena);
    const TensorView pose = arena.Floats({frames, kPoseSize});
    ops::CopyRows(context.ops, pass == 0 ? empty_pose_.view()[0] : raw, pose);
    const TensorView embedded = arena.Floats({frames, channels_});
    const TensorView modulation = arena.Floats({frames, 3 * channels_});
    ops::Linear(context.ops, pose, embed_pose_, LinearEpilogue::kStore, embedded);
    ops::Silu(context.ops, embedded);
    ops::Linear(context.ops, embedded, modulation_, LinearEpilogue::kStore, modulation);
    ops::Modulate(context.ops, modulation, plain, normed, x);
  }
  for (int block = 0; block < static_cast<int>(trunk_.size()); ++block) {
    CameraBlock(context, trunk_[block], cache, pass, block, x);
  }
  ops::LayerNorm(context.ops, x, trunk_norm_.gamma.view(), trunk_norm_.beta.view(), trunk_norm_.eps,
                 x);
  const TensorView hidden = arena.Floats({frames, channels_ / 2});
  ops::Linear(context.ops, x, branch_fc1_, LinearEpilogue::kGelu, hidden);
  ops::Linear(context.ops, hidden, branch_fc2_,
              pass == 0 ? LinearEpilogue::kStore : LinearEpilogue::kAccumulate, raw);
}

size_t CameraHead::WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                                  int64_t frames, int64_t retained_frames) {
  const auto floats = [frames](int64_t width) {
    return Arena::BytesFor(DType::kF32, frames * width);
  };
  const BlockShape shape = CameraBlockShape(config);
  const int64_t c = shape.channels;
  const size_t modulating = floats(kPoseSize) + floats(c) + floats(3 * c);
  const size_t trunk = BlockWorkspaceBytes(shape, setup.With(DType::kF32), frames, retained_frames);
  return 2 * floats(c) + floats(kPoseSize) + floats(c) +
         std::max({modulating, trunk, floats(c / 2)});
}

size_t CameraHead::bytes() const {
  size_t total = token_norm_.bytes() + plain_norm_.bytes() + empty_pose_.bytes() +
                 embed_pose_.bytes() + modulation_.bytes() + trunk_norm_.bytes() +
                 branch_fc1_.bytes() + branch_fc2_.bytes();
  for (const BlockWeights& block : trunk_) total += block.bytes();
  return total;
}

}  // namespace lingbot
