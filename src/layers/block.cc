#include "layers/block.h"

#include <algorithm>
#include <cmath>

#include "ops/attention.h"
#include "ops/layer_norm.h"

namespace lingbot {

using ops::LinearEpilogue;
using ops::Stage;

size_t BlockWeights::bytes() const {
  return norm1.bytes() + qkv.bytes() + proj.bytes() + norm2.bytes() + fc1.bytes() + fc2.bytes();
}

BlockWeights LoadBlock(const TensorSource& source, const std::string& prefix,
                       const BlockShape& shape, float eps, const ops::Setup& setup) {
  const int64_t c = shape.channels;
  BlockWeights weights;
  weights.shape = shape;
  weights.norm1 = LoadNorm(source, prefix + "norm1", c, eps, setup);
  weights.qkv = LoadNormedLinear(source, prefix + "attn.qkv", prefix + "norm1", 3 * c, c, setup);
  weights.proj = LoadScaledLinear(source, prefix + "attn.proj", prefix + "ls1", c, c, setup);
  weights.norm2 = LoadNorm(source, prefix + "norm2", c, eps, setup);
  weights.fc1 =
      LoadNormedLinear(source, prefix + "mlp.fc1", prefix + "norm2", shape.hidden, c, setup);
  // GELU makes nothing larger, so what bounds fc1's results bounds fc2's input.
  weights.fc2 = LoadScaledLinear(source, prefix + "mlp.fc2", prefix + "ls2", c, shape.hidden,
                                 setup.With(weights.fc1.storage()));
  return weights;
}

RotaryBlockWeights LoadRotaryBlock(const TensorSource& source, const std::string& prefix,
                                   const BlockShape& shape, float eps, const ops::Setup& setup) {
  const int64_t d = shape.head_dim();
  return {LoadBlock(source, prefix, shape, eps, setup),
          LoadNorm(source, prefix + "attn.q_norm", d, eps, setup),
          LoadNorm(source, prefix + "attn.k_norm", d, eps, setup),
          static_cast<float>(LongestNormed(source, prefix + "attn.q_norm", d) *
                             LongestNormed(source, prefix + "attn.k_norm", d) /
                             std::sqrt(static_cast<double>(d)))};
}

namespace {

using ops::Qkv;

// q, k and v of all rows, with the row stride of the product that made them.
Qkv ComputeQkv(const BlockContext& context, const BlockWeights& weights, const TensorView& x) {
  const BlockShape& shape = weights.shape;
  const int64_t rows = x.dim(0);
  Arena& arena = context.ops.arena();
  const DType type = weights.qkv.input();
  const TensorView qkv = arena.Allocate(type, {rows, 3 * shape.channels});
  {
    const Arena::Scope scope(arena);
    const TensorView normed = arena.Allocate(type, x.shape());
    ops::LayerNorm(context.ops, x, weights.norm1.gamma.view(), weights.norm1.beta.view(),
                   weights.norm1.eps, normed);
    ops::Linear(context.ops, normed, weights.qkv, LinearEpilogue::kStore, qkv);
  }
  const TensorView parts = qkv.Reshape({rows, 3, shape.heads, shape.head_dim()});
  const auto part = [&](int64_t index) {
    return TensorView(parts.Slice(1, index, index + 1).raw(), parts.dtype(),
                      {rows, shape.heads, shape.head_dim()}, {parts.stride(0), parts.stride(2), 1},
                      parts.device());
  };
  return {part(0), part(1), part(2)};
}

ops::HeadNorm KeyNorm(const RotaryBlockWeights& weights) {
  return {weights.k_norm.gamma.view(), weights.k_norm.beta.view(), weights.k_norm.eps};
}

ops::HeadNorm QueryNorm(const BlockContext& context, const RotaryBlockWeights& weights) {
  const int64_t head_dim = weights.block.shape.head_dim();
  return {weights.q_norm.gamma.view(), weights.q_norm.beta.view(), weights.q_norm.eps,
          ops::QueryScale(context.ops, context.attention, head_dim)};
}

// attended [rows, channels]: frame by frame, each frame's tokens among themselves.
void AttendInFrames(const BlockContext& context, const BlockShape& shape, int64_t frames,
                    float score_bound, bool prescaled, const Qkv& qkv, const TensorView& attended) {
  ops::FrameAttention(context.ops, context.attention, frames, qkv.q, qkv.k, qkv.v, score_bound,
                      prescaled,
                      attended.Reshape({attended.dim(0), shape.heads, shape.head_dim()}));
}

// Rows that go through the MLP together, so that the hidden values of a scale step take less than
// its q, k and v.
int64_t MlpRows(int64_t rows) { return EvenPart(rows, kRowsTogether); }

// x += attended proj^T; x += mlp(norm2(x)).
void ProjectAndMlp(const BlockContext& context, const BlockWeights& weights,
                   const TensorView& attended, const TensorView& x) {
  ops::Linear(context.ops, attended, weights.proj, LinearEpilogue::kAccumulate, x);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const DType type = weights.fc1.input();
  const int64_t most = MlpRows(x.dim(0));
  const TensorView all_normed = arena.Allocate(type, {most, x.dim(1)});
  const TensorView all_hidden = arena.Allocate(type, {most, weights.shape.hidden});
  for (int64_t row = 0; row < x.dim(0); row += most) {
    const TensorView part = x.Slice(0, row, std::min(row + most, x.dim(0)));
    const TensorView normed = all_normed.Slice(0, 0, part.dim(0));
    const TensorView hidden = all_hidden.Slice(0, 0, part.dim(0));
    ops::LayerNorm(context.ops, part, weights.norm2.gamma.view(), weights.norm2.beta.view(),
                   weights.norm2.eps, normed);
    ops::Linear(context.ops, normed, weights.fc1, LinearEpilogue::kGelu, hidden);
    ops::Linear(context.ops, hidden, weights.fc2, LinearEpilogue::kAccumulate, part);
  }
}

}  // namespace

void EncoderBlock(const BlockContext& context, const BlockWeights& weights, int64_t frames,
                  const TensorView& x) {
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Allocate(context.activations, x.shape());
  {
    const Arena::Scope inner(context.ops.arena());
    AttendInFrames(context, weights.shape, frames, ops::kUnbounded, /*prescaled=*/false,
                   ops::AsTheyAre(context.ops, ComputeQkv(context, weights, x)), attended);
  }
  ProjectAndMlp(context, weights, attended, x);
}

void FrameBlock(const BlockContext& context, const RotaryBlockWeights& weights, int64_t frames,
                const ops::RotaryTable& positions, const TensorView& x) {
  const ops::Profile::Scope stage(context.profile, Stage::kFrameBlocks);
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Allocate(context.activations, x.shape());
  {
    const Arena::Scope inner(context.ops.arena());
    const Qkv qkv = ops::NormRotate(context.ops, ComputeQkv(context, weights.block, x),
                                    QueryNorm(context, weights), KeyNorm(weights), positions);
    AttendInFrames(context, weights.block.shape, frames, weights.score_bound, /*prescaled=*/true,
                   qkv, attended);
  }
  ProjectAndMlp(context, weights.block, attended, x);
}

void GlobalBlock(const BlockContext& context, const RotaryBlockWeights& weights,
                 const ops::RotaryTable& positions, KvCache& cache, int block,
                 const TensorView& x) {
  const ops::Profile::Scope stage(context.profile, Stage::kGlobalOther);
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Allocate(context.activations, x.shape());
  {
    const Arena::Scope inner(context.ops.arena());
    const TensorView q = ops::NormRotateStore(context.ops, ComputeQkv(context, weights.block, x),
                                              QueryNorm(context, weights), KeyNorm(weights),
                                              positions, cache.Destination(block));
    const ops::Profile::Scope attention(context.profile, Stage::kGlobalAttention);
    ops::PagedAttention(context.ops, context.attention, q, cache.View(block), weights.score_bound,
                        attended.Reshape(q.shape()));
  }
  ProjectAndMlp(context, weights.block, attended, x);
}

void CameraBlock(const BlockContext& context, const BlockWeights& weights, KvCache& cache, int pass,
                 int block, const TensorView& x) {
  const Arena::Scope scope(context.ops.arena());
  const TensorView attended = context.ops.arena().Allocate(context.activations, x.shape());
  {
    const Arena::Scope inner(context.ops.arena());
    const Qkv qkv = ComputeQkv(context, weights, x);
    cache.AppendCamera(pass, block, qkv.k, qkv.v);
    ops::EntryAttention(context.ops, context.attention, qkv.q, cache.CameraView(pass, block),
                        attended.Reshape(qkv.q.shape()));
  }
  ProjectAndMlp(context, weights, attended, x);
}

size_t BlockWorkspaceBytes(const BlockShape& shape, const ops::Setup& setup, int64_t rows,
                           int64_t kv_tokens) {
  const auto values = [&](int64_t width) {
    return Arena::BytesFor(setup.activations(), rows * width);
  };
  const auto values_of_part = [&](int64_t width) {
    return Arena::BytesFor(setup.activations(), MlpRows(rows) * width);
  };
  const int64_t c = shape.channels;
  const size_t widest_product =
      std::max(ops::LinearWorkspaceBytes(setup, rows, shape.hidden, c),
               ops::LinearWorkspaceBytes(setup, rows, c, std::max(3 * c, shape.hidden)));
  const size_t attending =
      std::max(values(c),
               ops::AttentionWorkspaceBytes(setup, rows, kv_tokens, shape.heads, shape.head_dim()));
  // attended, then either qkv with what computes or attends to it, or the MLP's temporaries
  return values(c) +
         std::max(values(3 * c) + std::max(values(c), attending),
                  values_of_part(c) + values_of_part(shape.hidden)) +
         widest_product;
}

}  // namespace lingbot
