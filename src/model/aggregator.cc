#include "model/aggregator.h"

#include <algorithm>

#include "ops/elementwise.h"

namespace lingbot {
namespace {

constexpr float kEps = 1e-5f;
constexpr int64_t kRegisters = 4;

// Copies `x` [tokens, C] into columns [begin, begin + C) of `tap` [tokens, 2C].
void CopyColumns(const BlockContext& context, const TensorView& x, int64_t begin,
                 const TensorView& tap) {
  ops::CopyRows(context.ops, x, tap.Slice(1, begin, begin + x.dim(1)));
}

// Camera, register and scale token have two variants each: camera and register one for the first
// frame of a stream and one for the others, scale one for the scale frames and one for the others.
Buffer ReadSpecialTokens(const TensorSource& source, int64_t c) {
  const Buffer camera = source.Read("aggregator.camera_token", {1, 2, 1, c});
  const Buffer registers = source.Read("aggregator.register_token", {1, 2, kRegisters, c});
  const Buffer scale = source.Read("aggregator.scale_token", {1, 2, 1, c});
  Buffer tokens(DType::kF32, {3, kSpecialTokens, c});
  float* target = tokens.data<float>();
  for (int kind = 0; kind < 3; ++kind) {
    const int64_t later = kind == 0 ? 0 : 1;
    const int64_t streaming = kind < 2 ? 0 : 1;
    target = std::copy_n(camera.data<float>() + later * c, c, target);
    target = std::copy_n(registers.data<float>() + later * kRegisters * c, kRegisters * c, target);
    target = std::copy_n(scale.data<float>() + streaming * c, c, target);
  }
  return tokens;
}

void Observe(const Observer& observer, const char* name, int index, const TensorView& values) {
  if (observer) observer(name, index, values);
}

}  // namespace

Aggregator::Aggregator(const TensorSource& source, const ModelConfig& config,
                       const ops::Setup& setup)
    : channels_(config.embed_dim),
      head_dim_(config.embed_dim / config.num_heads),
      taps_(config.taps),
      encoder_(source, config, setup),
      special_tokens_(OnDevice(ReadSpecialTokens(source, channels_), setup)) {
  for (int i = 0; i < config.depth; ++i) {
    const std::string number = std::to_string(i) + ".";
    frame_blocks_.push_back(LoadRotaryBlock(source, "aggregator.frame_blocks." + number,
                                            TokenBlockShape(config), kEps, setup));
    global_blocks_.push_back(LoadRotaryBlock(source, "aggregator.global_blocks." + number,
                                             TokenBlockShape(config), kEps, setup));
  }
}

FrameTables Aggregator::MakeTables(const PatchGrid& grid, int64_t max_frames,
                                   ops::Context& context) const {
  return {grid, encoder_.MakeTables(grid), FramePositions(grid, head_dim_, context.setup()),
          StreamPositions(grid, head_dim_, max_frames, context)};
}

size_t Aggregator::StepInputBytes(const ModelConfig& config, int64_t max_frames) {
  return StreamPositions::StepInputBytes(config.embed_dim / config.num_heads, max_frames);
}

// x [frames * tokens, C]: each frame's special tokens, then its patches.
void Aggregator::Embed(const BlockContext& context, const TensorView& images, int64_t first_frame,
                       int64_t scale_frames, const FrameTables& tables, const Observer& observer,
                       const TensorView& x) const {
  const PatchGrid& grid = tables.grid;
  const int64_t frames = images.dim(0);
  const Arena::Scope scope(context.ops.arena());
  const TensorView patches = context.ops.arena().Floats({frames * grid.patches(), channels_});
  encoder_.Forward(context, images, tables.encoder, patches);
  Observe(observer, "patch_tokens", 0, patches);
  for (int64_t f = 0; f < frames; ++f) {
    const int64_t frame = first_frame + f;
    const int64_t kind = frame == 0 ? 0 : frame < scale_frames ? 1 : 2;
    const TensorView tokens = x.Slice(0, f * grid.tokens(), (f + 1) * grid.tokens());
    ops::CopyRows(context.ops, special_tokens_.view()[kind], tokens.Slice(0, 0, kSpecialTokens));
    ops::CopyRows(context.ops, patches.Slice(0, f * grid.patches(), (f + 1) * grid.patches()),
                  tokens.Slice(0, kSpecialTokens, grid.tokens()));
  }
}

void Aggregator::Forward(const BlockContext& context, const TensorView& images, int64_t first_frame,
                         int64_t scale_frames, FrameTables& tables, KvCache& cache,
                         const TapSink& sink, const Observer& observer) const {
  const int64_t frames = images.dim(0);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView x = arena.Floats({frames * tables.grid.tokens(), channels_});
  Embed(context, images, first_frame, scale_frames, tables, observer, x);
  const ops::RotaryTable in_frame = tables.frame_positions.table();
  const ops::RotaryTable in_stream = tables.stream_positions.Table(context.ops, frames);
  for (size_t i = 0; i < frame_blocks_.size(); ++i) {
    const int block = static_cast<int>(i);
    const Arena::Scope of_block(arena);
    const auto found = std::find(taps_.begin(), taps_.end(), block);
    TensorView of_frame_block;
    FrameBlock(context, frame_blocks_[i], frames, in_frame, x);
    Observe(observer, "frame_block", block, x);
    if (found != taps_.end()) {
      of_frame_block = arena.Floats(x.shape());
      ops::CopyRows(context.ops, x, of_frame_block);
    }
    GlobalBlock(context, global_blocks_[i], in_stream, cache, block, x);
    Observe(observer, "global_block", block, x);
    if (found == taps_.end()) continue;
    const TensorView tap = arena.Floats({tables.grid.tokens(), 2 * channels_});
    for (int64_t frame = 0; frame < frames; ++frame) {
      const auto of_frame = [&](const TensorView& rows) {
        return rows.Slice(0, frame * tap.dim(0), (frame + 1) * tap.dim(0));
      };
      CopyColumns(context, of_frame(of_frame_block), 0, tap);
      CopyColumns(context, of_frame(x), channels_, tap);
      sink(static_cast<int>(found - taps_.begin()), static_cast<int>(frame), tap);
    }
  }
}

size_t Aggregator::WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                                  const PatchGrid& grid, int64_t frames, int64_t kv_tokens,
                                  size_t sink_bytes) {
  const int64_t rows = frames * grid.tokens();
  const int64_t c = config.embed_dim;
  const size_t encoding = Arena::BytesFor(DType::kF32, frames * grid.patches() * c) +
                          ImageEncoder::WorkspaceBytes(config, setup, grid, frames);
  const size_t block = BlockWorkspaceBytes(TokenBlockShape(config), setup, rows, kv_tokens);
  return Arena::BytesFor(DType::kF32, rows * c) +
         std::max(
             encoding,
             Arena::BytesFor(DType::kF32, rows * c) +
                 std::max(block, Arena::BytesFor(DType::kF32, grid.tokens() * 2 * c) + sink_bytes));
}

size_t Aggregator::bytes() const {
  size_t total = encoder_.bytes() + special_tokens_.bytes();
  for (const auto& block : frame_blocks_) total += block.bytes();
  for (const auto& block : global_blocks_) total += block.bytes();
  return total;
}

}  // namespace lingbot
