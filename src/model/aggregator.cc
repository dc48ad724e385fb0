#include "model/aggregator.h"

#include <algorithm>

namespace lingbot {
namespace {

constexpr float kEps = 1e-5f;
constexpr int64_t kRegisters = 4;

// Copies `x` [rows, C] into columns [begin, begin + C) of `tap` [rows, 2C].
void CopyColumns(const BlockContext& context, const TensorView& x, int64_t begin,
                 const TensorView& tap) {
  const int64_t c = x.dim(1);
  const float* source = x.data<float>();
  float* target = tap.data<float>() + begin;
  context.ops.team().ForRange(x.dim(0), 32, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      std::copy_n(source + row * c, c, target + row * tap.stride(0));
    }
  });
}

void Observe(const Observer& observer, const char* name, int index, const TensorView& values) {
  if (observer) observer(name, index, values);
}

}  // namespace

Aggregator::Aggregator(const TensorSource& source, const ModelConfig& config, DType storage)
    : channels_(config.embed_dim),
      head_dim_(config.embed_dim / config.num_heads),
      taps_(config.taps),
      encoder_(source, config, storage),
      camera_token_(source.Read("aggregator.camera_token", {1, 2, 1, channels_})),
      register_token_(source.Read("aggregator.register_token", {1, 2, kRegisters, channels_})),
      scale_token_(source.Read("aggregator.scale_token", {1, 2, 1, channels_})) {
  for (int i = 0; i < config.depth; ++i) {
    const std::string number = std::to_string(i) + ".";
    frame_blocks_.push_back(LoadRotaryBlock(source, "aggregator.frame_blocks." + number,
                                            TokenBlockShape(config), kEps, storage));
    global_blocks_.push_back(LoadRotaryBlock(source, "aggregator.global_blocks." + number,
                                             TokenBlockShape(config), kEps, storage));
  }
}

FrameTables Aggregator::MakeTables(const PatchGrid& grid, int64_t max_frames) const {
  return {grid, encoder_.PositionEmbedding(grid), FramePositions(grid, head_dim_),
          StreamPositions(grid, head_dim_, max_frames)};
}

void Aggregator::WriteSpecialTokens(int64_t frame, int64_t scale_frames, float* target) const {
  const int64_t c = channels_;
  const int64_t later = frame == 0 ? 0 : 1;
  const int64_t streaming = frame < scale_frames ? 0 : 1;
  target = std::copy_n(camera_token_.data<float>() + later * c, c, target);
  target =
      std::copy_n(register_token_.data<float>() + later * kRegisters * c, kRegisters * c, target);
  std::copy_n(scale_token_.data<float>() + streaming * c, c, target);
}

void Aggregator::Forward(const BlockContext& context, const TensorView& images, int64_t first_frame,
                         int64_t scale_frames, FrameTables& tables, KvCache& cache,
                         const std::array<TensorView, 4>& taps, const Observer& observer) const {
  const PatchGrid& grid = tables.grid;
  const int64_t frames = images.dim(0);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView x = arena.Floats({frames * grid.tokens(), channels_});
  {
    const Arena::Scope inner(arena);
    const TensorView patches = arena.Floats({frames * grid.patches(), channels_});
    encoder_.Forward(context, images, tables.encoder_positions.view(), patches);
    Observe(observer, "patch_tokens", 0, patches);
    for (int64_t f = 0; f < frames; ++f) {
      float* tokens = x.data<float>() + f * grid.tokens() * channels_;
      WriteSpecialTokens(first_frame + f, scale_frames, tokens);
      std::copy_n(patches.data<float>() + f * grid.patches() * channels_,
                  grid.patches() * channels_, tokens + kSpecialTokens * channels_);
    }
  }
  const ops::RotaryTable in_frame = tables.frame_positions.table();
  const ops::RotaryTable in_stream = tables.stream_positions.At(cache.time_index(), frames);
  for (size_t i = 0; i < frame_blocks_.size(); ++i) {
    const int block = static_cast<int>(i);
    const auto tap = std::find(taps_.begin(), taps_.end(), block);
    FrameBlock(context, frame_blocks_[i], frames, in_frame, x);
    Observe(observer, "frame_block", block, x);
    if (tap != taps_.end()) CopyColumns(context, x, 0, taps[tap - taps_.begin()]);
    GlobalBlock(context, global_blocks_[i], in_stream, cache, block, x);
    Observe(observer, "global_block", block, x);
    if (tap != taps_.end()) CopyColumns(context, x, channels_, taps[tap - taps_.begin()]);
  }
}

size_t Aggregator::WorkspaceBytes(const ModelConfig& config, DType storage, const PatchGrid& grid,
                                  int64_t frames, int64_t kv_tokens, AttentionBackend attention,
                                  int threads) {
  const int64_t rows = frames * grid.tokens();
  const int64_t c = config.embed_dim;
  const size_t encoding =
      Arena::BytesFor(DType::kF32, frames * grid.patches() * c) +
      ImageEncoder::WorkspaceBytes(config, storage, grid, frames, attention, threads);
  return Arena::BytesFor(DType::kF32, rows * c) +
         std::max(encoding, BlockWorkspaceBytes(TokenBlockShape(config), storage, attention,
                                                threads, rows, kv_tokens));
}

size_t Aggregator::bytes() const {
  size_t total =
      encoder_.bytes() + camera_token_.bytes() + register_token_.bytes() + scale_token_.bytes();
  for (const auto& block : frame_blocks_) total += block.bytes();
  for (const auto& block : global_blocks_) total += block.bytes();
  return total;
}

}  // namespace lingbot
