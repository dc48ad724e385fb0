#include "layers/block.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/layer_norm.h"

namespace lingbot {

using ops::LinearEpilogue;
using ops::Stage;

size_t BlockWeights::bytes() const {
  return norm1.bytes() + qkv.bytes() + proj.bytes() + norm2.bytes() + fc1.bytes() + fc2.bytes();
}

BlockWeights LoadBlock(const TensorSource& source, const std::string& prefix,
                       const BlockShape& shape, float eps, DType storage) {
  const int64_t c = shape.channels;
  BlockWeights weights;
  weights.shape = shape;
  weights.norm1 = LoadNorm(source, prefix + "norm1", c, eps);
  weights.qkv = LoadLinear(source, prefix + "attn.qkv", 3 * c, c, storage);
  weights.proj = LoadScaledLinear(source, prefix + "attn.proj", prefix + "ls1", c, c, storage);
  weights.norm2 = LoadNorm(source, prefix + "norm2", c, eps);
  weights.fc1 = LoadLinear(source, prefix + "mlp.fc1", shape.hidden, c, storage);
  weights.fc2 =
      LoadScaledLinear(source, prefix + "mlp.fc2", prefix + "ls2", c, shape.hidden, storage);
  return weights;
}

RotaryBlockWeights LoadRotaryBlock(const TensorSource& source, const std::string& prefix,
                                   const BlockShape& shape, float eps, DType storage) {
  return {LoadBlock(source, prefix, shape, eps, storage),
          LoadNorm(source, prefix + "attn.q_norm", shape.head_dim(), eps),
          LoadNorm(source, prefix + "attn.k_norm", shape.head_dim(), eps)};
}

namespace {

// q, k and v of all rows, each [rows, heads, head_dim] with the row stride of the product that made
// them.
struct Qkv {
  TensorView q, k, v;
};

Qkv ComputeQkv(const BlockContext& context, const BlockWeights& weights, const TensorView& x) {
  const BlockShape& shape = weights.shape;
  const int64_t rows = x.dim(0);
  Arena& arena = context.ops.arena();
  const TensorView qkv = arena.Floats({rows, 3 * shape.channels});
  {
    const Arena::Scope scope(arena);
    const TensorView normed = arena.Floats(x.shape());
    ops::LayerNorm(context.ops, x, weights.norm1.gamma.view(), weights.norm1.beta.view(),
                   weights.norm1.eps, normed);
    ops::Linear(context.ops, normed, weights.qkv, LinearEpilogue::kStore, qkv);
  }
  const TensorView parts = qkv.Reshape({rows, 3, shape.heads, shape.head_dim()});
  const auto part = [&](int64_t index) {
    return TensorView(parts.Slice(1, index, index + 1).raw(), DType::kF32,
                      {rows, shape.heads, shape.head_dim()}, {parts.stride(0), parts.stride(2), 1});
  };
  return {part(0), part(1), part(2)};
}

void NormRotateQk(const BlockContext& context, const RotaryBlockWeights& weights,
                  const ops::RotaryTable& positions, const Qkv& qkv) {
  ops::NormRotate(context.ops, qkv.q, weights.q_norm.gamma.view(), weights.q_norm.beta.view(),
                  weights.q_norm.eps, positions);
  ops::NormRotate(context.ops, qkv.k, weights.k_norm.gamma.view(), weights.k_norm.beta.view(),
                  weights.k_norm.eps, positions);
}

// attended [rows, channels]: frame by frame, each frame's tokens among themselves.
void AttendInFrames(const BlockContext& context, const BlockShape& shape, int64_t frames,
                    const Qkv& qkv, const TensorView& attended) {
  const int64_t tokens = attended.dim(0) / frames;
  const TensorView out = attended.Reshape({attended.dim(0), shape.heads, shape.head_dim()});
  for (int64_t frame = 0; frame < frames; ++frame) {
    const auto rows = [&](const TensorView& all) {
      return all.Slice(0, frame * tokens, (frame + 1) * tokens);
    };
    ops::DenseAttention(context.ops, context.attention, rows(qkv.q), rows(qkv.k), rows(qkv.v),
                        rows(out));
  }
}

// x += attended proj^T; x += mlp(norm2(x)).
void ProjectAndMlp(const BlockContext& context, const BlockWeights& weights,
                   const TensorView& attended, const TensorView& x) {
  ops::Linear(context.ops, attended, weights.proj, LinearEpilogue::kAccumulate, x);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const TensorView normed = arena.Floats(x.shape());
  ops::LayerNorm(context.ops, x, weights.norm2.gamma.view(), weights.norm2.beta.view(),
                 weights.norm2.eps, normed);
  const TensorView hidden = arena.Floats({x.dim(0), weights.shape.hidden});
  ops::Linear(context.ops, normed, weights.fc1, LinearEpilogue::kGelu, hidden);
  ops::Linear(context.ops, hidden, weights.fc2, LinearEpilogue::kAccumulate, x);
}

}  // namespace

void EncoderBlock(const BlockContext& context, const BlockWeights& weights, int64_t frames,
                  const TensorView& x) {
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Floats(x.shape());
  AttendInFrames(context, weights.shape, frames, ComputeQkv(context, weights, x), attended);
  ProjectAndMlp(context, weights, attended, x);
}

void FrameBlock(const BlockContext& context, const RotaryBlockWeights& weights, int64_t frames,
                const ops::RotaryTable& positions, const TensorView& x) {
  const ops::Profile::Scope stage(context.profile, Stage::kFrameBlocks);
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Floats(x.shape());
  const Qkv qkv = ComputeQkv(context, weights.block, x);
  NormRotateQk(context, weights, positions, qkv);
  AttendInFrames(context, weights.block.shape, frames, qkv, attended);
  ProjectAndMlp(context, weights.block, attended, x);
}

void GlobalBlock(const BlockContext& context, const RotaryBlockWeights& weights,
                 const ops::RotaryTable& positions, KvCache& cache, int block,
                 const TensorView& x) {
  const ops::Profile::Scope stage(context.profile, Stage::kGlobalOther);
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Floats(x.shape());
  const Qkv qkv = ComputeQkv(context, weights.block, x);
  NormRotateQk(context, weights, positions, qkv);
  cache.Append(context.ops.team(), block, qkv.k, qkv.v);
  {
    const ops::Profile::Scope inner(context.profile, Stage::kGlobalAttention);
    ops::PagedAttention(context.ops, context.attention, qkv.q, cache.View(block),
                        attended.Reshape(qkv.q.shape()));
  }
  ProjectAndMlp(context, weights.block, attended, x);
}

void CameraBlock(const BlockContext& context, const BlockWeights& weights, KvCache& cache, int pass,
                 int block, const TensorView& x) {
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Floats(x.shape());
  const Qkv qkv = ComputeQkv(context, weights, x);
  cache.AppendCamera(pass, block, qkv.k, qkv.v);
  const CameraKv past = cache.CameraView(pass, block);
  ops::DenseAttention(context.ops, context.attention, qkv.q, past.k, past.v,
                      attended.Reshape(qkv.q.shape()));
  ProjectAndMlp(context, weights, attended, x);
}

size_t BlockWorkspaceBytes(const BlockShape& shape, DType storage, AttentionBackend attention,
                           int threads, int64_t rows, int64_t kv_tokens) {
  const auto floats = [rows](int64_t width) { return Arena::BytesFor(DType::kF32, rows * width); };
  const int64_t c = shape.channels;
  const size_t widest_product =
      std::max(ops::LinearWorkspaceBytes(rows, shape.hidden, c, storage),
               ops::LinearWorkspaceBytes(rows, c, std::max(3 * c, shape.hidden), storage));
  const size_t attending =
      std::max(floats(c), ops::AttentionWorkspaceBytes(attention, threads, rows, kv_tokens,
                                                       shape.heads, shape.head_dim()));
  // attended + qkv, then either the attention's own or the MLP's temporaries
  return floats(c) + floats(3 * c) + std::max(attending, floats(c) + floats(shape.hidden)) +
         widest_product;
}

}  // namespace lingbot
