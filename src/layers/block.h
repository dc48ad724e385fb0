#ifndef LINGBOT_LAYERS_BLOCK_H_
#define LINGBOT_LAYERS_BLOCK_H_

#include <string>

#include "cache/kv_cache.h"
#include "layers/loading.h"
#include "ops/profile.h"
#include "ops/rotary.h"

namespace lingbot {

// Sizes of one transformer block.
struct BlockShape {
  int64_t channels = 0;
  int64_t heads = 0;
  int64_t hidden = 0;  // of the MLP
  int64_t head_dim() const { return channels / heads; }
};

// Rows that are enough to fill any device: where more would only take memory, they go in parts.
inline constexpr int64_t kRowsTogether = 4096;

// The size of the fewest equal parts (the last one may be smaller) of at most `most` that `total`
// falls into.
inline int64_t EvenPart(int64_t total, int64_t most) {
  const int64_t parts = (total + most - 1) / most;
  return (total + parts - 1) / parts;
}

// Pre-norm transformer block: x += attention(norm1(x)); x += mlp(norm2(x)); LayerScale is folded
// into the last product of either branch.
struct BlockWeights {
  BlockShape shape;
  NormWeights norm1;
  ops::LinearWeights qkv;   // rows q, k, v; each heads x head_dim
  ops::LinearWeights proj;  // scaled by ls1
  NormWeights norm2;
  ops::LinearWeights fc1;
  ops::LinearWeights fc2;  // scaled by ls2

  size_t bytes() const;
};

// Block whose q and k are normalised per head and rotated.
struct RotaryBlockWeights {
  BlockWeights block;
  NormWeights q_norm;  // [head_dim]
  NormWeights k_norm;  // [head_dim]
  // Upper bound of |q k| / sqrt(head_dim): both are normalised, and rotation keeps lengths.
  float score_bound = ops::kUnbounded;

  size_t bytes() const { return block.bytes() + q_norm.bytes() + k_norm.bytes(); }
};

// `prefix` is e.g. "aggregator.frame_blocks.3."; eps is that of norm1 and norm2.
BlockWeights LoadBlock(const TensorSource& source, const std::string& prefix,
                       const BlockShape& shape, float eps, const ops::Setup& setup);
RotaryBlockWeights LoadRotaryBlock(const TensorSource& source, const std::string& prefix,
                                   const BlockShape& shape, float eps, const ops::Setup& setup);

// What every block of a forward pass works with.
struct BlockContext {
  ops::Context& ops;
  ops::Profile& profile;
  AttentionBackend attention;
  DType activations = DType::kF32;  // of what attention takes and gives
};

// All blocks change x [frames * tokens, channels] float32 in place.

// Attention inside each frame, no positions: the image encoder.
void EncoderBlock(const BlockContext& context, const BlockWeights& weights, int64_t frames,
                  const TensorView& x);

// Attention inside each frame with rotated q and k.
void FrameBlock(const BlockContext& context, const RotaryBlockWeights& weights, int64_t frames,
                const ops::RotaryTable& positions, const TensorView& x);

// Attention over everything that the open step of `cache` sees in `block`, the frames themselves
// included; their K and V are appended first.
void GlobalBlock(const BlockContext& context, const RotaryBlockWeights& weights,
                 const ops::RotaryTable& positions, KvCache& cache, int block, const TensorView& x);

// One camera token a frame, attending to those of all retained frames in the same pass and block.
void CameraBlock(const BlockContext& context, const BlockWeights& weights, KvCache& cache, int pass,
                 int block, const TensorView& x);

// Temporary bytes of any of these for `rows` rows that attend to `kv_tokens` tokens at most.
size_t BlockWorkspaceBytes(const BlockShape& shape, const ops::Setup& setup, int64_t rows,
                           int64_t kv_tokens);

}  // namespace lingbot

#endif  // LINGBOT_LAYERS_BLOCK_H_
