#include "model/image_encoder.h"

#include <algorithm>
#include <utility>

#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/resize.h"

namespace lingbot {
namespace {

constexpr float kEps = 1e-6f;
constexpr int64_t kRegisters = 4;
constexpr int64_t kExtras = 1 + kRegisters;  // class token and registers, in front of the patches
constexpr float kMean[3] = {0.485f, 0.456f, 0.406f};
constexpr float kDeviation[3] = {0.229f, 0.224f, 0.225f};

// Frames do not see each other here, so a step's frames may go through in parts.
int64_t FramesTogether(int64_t frames, int64_t tokens) {
  return EvenPart(frames, std::max<int64_t>(1, kRowsTogether / tokens));
}

}  // namespace

BlockShape TokenBlockShape(const ModelConfig& config) {
  return {config.embed_dim, config.num_heads, int64_t{config.mlp_ratio} * config.embed_dim};
}

ImageEncoder::ImageEncoder(const TensorSource& source, const ModelConfig& config,
                           const ops::Setup& setup)
    : setup_(setup),
      patch_size_(config.patch_size),
      grid_side_(config.img_size / config.patch_size) {
  const std::string prefix = "aggregator.patch_embed.";
  const int64_t c = config.embed_dim;
  const int64_t pixels = int64_t{3} * patch_size_ * patch_size_;
  const Buffer kernel =
      source.Read(prefix + "patch_embed.proj.weight", {c, 3, patch_size_, patch_size_});
  const Buffer bias = source.Read(prefix + "patch_embed.proj.bias", {c});
  // Normalised pixels lie within 3 of zero, and the result is float32.
  patch_projection_ = ops::LinearWeights(FloatsOf(kernel), FloatsOf(bias), {}, c, pixels,
                                         setup.With(setup.bounded_products()));
  class_token_ = source.Read(prefix + "cls_token", {1, 1, c});
  registers_ = source.Read(prefix + "register_tokens", {1, kRegisters, c});
  position_table_ = source.Read(prefix + "pos_embed", {1, 1 + int64_t{grid_side_} * grid_side_, c});
  for (int i = 0; i < config.vit_depth; ++i) {
    blocks_.push_back(LoadBlock(source, prefix + "blocks." + std::to_string(i) + ".",
                                TokenBlockShape(config), kEps, setup));
  }
  norm_ = LoadNorm(source, prefix + "norm", c, kEps, setup);
}

// [1 + patches, channels]; row 0 belongs to the class token.
Buffer ImageEncoder::PositionEmbedding(const PatchGrid& grid) const {
  const int64_t c = position_table_.shape()[2];
  const TensorView table = position_table_.view()[0];
  Buffer positions(DType::kF32, {1 + grid.patches(), c});
  std::copy_n(table.data<float>(), c, positions.data<float>());
  const TensorView patches =
      positions.view().Slice(0, 1, 1 + grid.patches()).Reshape({grid.rows, grid.columns, c});
  ops::ResizeBicubicAntialiased(
      table.Slice(0, 1, table.dim(0)).Reshape({grid_side_, grid_side_, c}), patches);
  return positions;
}

ImageEncoder::Tables ImageEncoder::MakeTables(const PatchGrid& grid) const {
  const int64_t c = position_table_.shape()[2];
  const Buffer positions = PositionEmbedding(grid);
  Buffer first(DType::kF32, {kExtras, c});
  for (int64_t i = 0; i < c; ++i) {
    first.data<float>()[i] = class_token_.data<float>()[i] + positions.data<float>()[i];
  }
  std::copy_n(registers_.data<float>(), kRegisters * c, first.data<float>() + c);
  Buffer of_patches(DType::kF32, {grid.patches(), c});
  std::copy_n(positions.data<float>() + c, grid.patches() * c, of_patches.data<float>());
  return {OnDevice(std::move(first), setup_), OnDevice(std::move(of_patches), setup_)};
}

// x [frames * (kExtras + patches), channels]: class token, registers, patches; registers carry no
// position.
void ImageEncoder::Embed(const BlockContext& context, const TensorView& images,
                         const Tables& tables, const TensorView& x) const {
  const int64_t frames = images.dim(0);
  const int64_t patches = tables.positions.shape()[0];
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView pixels =
      arena.Allocate(patch_projection_.input(), {patches, int64_t{3} * patch_size_ * patch_size_});
  for (int64_t frame = 0; frame < frames; ++frame) {
    const TensorView tokens =
        x.Slice(0, frame * (kExtras + patches), (frame + 1) * (kExtras + patches));
    ops::CopyRows(context.ops, tables.first_tokens.view(), tokens.Slice(0, 0, kExtras));
    ops::ExtractPatches(context.ops, images[frame], patch_size_, kMean, kDeviation, pixels);
    const TensorView embedded = tokens.Slice(0, kExtras, kExtras + patches);
    ops::Linear(context.ops, pixels, patch_projection_, ops::LinearEpilogue::kStore, embedded);
    ops::AddRows(context.ops, tables.positions.view(), embedded);
  }
}

void ImageEncoder::Forward(const BlockContext& context, const TensorView& images,
                           const Tables& tables, const TensorView& tokens) const {
  const ops::Profile::Scope stage(context.profile, ops::Stage::kTokens);
  const int64_t patches = tables.positions.shape()[0];
  const int64_t most = FramesTogether(images.dim(0), kExtras + patches);
  for (int64_t first = 0; first < images.dim(0); first += most) {
    const int64_t last = std::min(first + most, images.dim(0));
    ForwardTogether(context, images.Slice(0, first, last), tables,
                    tokens.Slice(0, first * patches, last * patches));
  }
}

void ImageEncoder::ForwardTogether(const BlockContext& context, const TensorView& images,
                                   const Tables& tables, const TensorView& tokens) const {
  const int64_t frames = images.dim(0);
  const int64_t patches = tables.positions.shape()[0];
  const int64_t per_frame = kExtras + patches;
  const Arena::Scope scope(context.ops.arena());
  const TensorView x = context.ops.arena().Floats({frames * per_frame, tokens.dim(1)});
  Embed(context, images, tables, x);
  for (const BlockWeights& block : blocks_) EncoderBlock(context, block, frames, x);
  for (int64_t frame = 0; frame < frames; ++frame) {
    ops::LayerNorm(context.ops, x.Slice(0, frame * per_frame + kExtras, (frame + 1) * per_frame),
                   norm_.gamma.view(), norm_.beta.view(), norm_.eps,
                   tokens.Slice(0, frame * patches, (frame + 1) * patches));
  }
}

size_t ImageEncoder::WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                                    const PatchGrid& grid, int64_t frames) {
  const int64_t per_frame = kExtras + grid.patches();
  const int64_t rows = FramesTogether(frames, per_frame) * per_frame;
  const int64_t pixels = int64_t{3} * config.patch_size * config.patch_size;
  const size_t embedding =
      Arena::BytesFor(setup.activations(), grid.patches() * pixels) +
      ops::LinearWorkspaceBytes(setup, grid.patches(), pixels, config.embed_dim);
  return Arena::BytesFor(DType::kF32, rows * config.embed_dim) +
         std::max(embedding, BlockWorkspaceBytes(TokenBlockShape(config), setup, rows, per_frame));
}

size_t ImageEncoder::bytes() const {
  size_t total = patch_projection_.bytes() + class_token_.bytes() + registers_.bytes() +
                 position_table_.bytes() + norm_.bytes();
  for (const BlockWeights& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace lingbot
