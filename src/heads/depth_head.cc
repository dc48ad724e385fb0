#include "heads/depth_head.h"

#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/resize.h"

namespace lingbot {

using ops::ConvEpilogue;
using ops::LinearEpilogue;

namespace {

constexpr float kEps = 1e-5f;
constexpr int64_t kOutputChannels = 32;  // of the last hidden layer, in every size of the network
constexpr double kMapScale = 0.1;

// Encodes position p_i = span * (2i - (n-1)) / n, i < n, i.e. from -span*(n-1)/n to +span*(n-1)/n.
Buffer EncodePositions(int64_t count, double span, int64_t half) {
  Buffer table(DType::kF32, {count, half});
  const int64_t frequencies = half / 2;
  for (int64_t i = 0; i < count; ++i) {
    const double position =
        span * static_cast<double>(2 * i - (count - 1)) / static_cast<double>(count);
    float* row = table.data<float>() + i * half;
    for (int64_t j = 0; j < frequencies; ++j) {
      const double angle =
          position * std::pow(100.0, -static_cast<double>(j) / static_cast<double>(frequencies));
      row[j] = static_cast<float>(kMapScale * std::sin(angle));
      row[frequencies + j] = static_cast<float>(kMapScale * std::cos(angle));
    }
  }
  return table;
}

ops::LinearWeights LoadPointwise(const TensorSource& source, const std::string& name, int64_t out,
                                 int64_t in, const ops::Setup& setup) {
  const Buffer weight = source.Read(name + ".weight", {out, in, 1, 1});
  const Buffer bias = source.Read(name + ".bias", {out});
  return {FloatsOf(weight), FloatsOf(bias), {}, out, in, setup};
}

// A transposed convolution whose stride is its kernel size touches every output pixel once: it is a
// product with rows (kernel row, kernel column, output channel), followed by a rearrangement
// (ops::DepthToSpace).
ops::LinearWeights LoadEnlarge(const TensorSource& source, const std::string& name,
                               int64_t channels, int64_t size, const ops::Setup& setup) {
  const Buffer kernel = source.Read(name + ".weight", {channels, channels, size, size});
  const Buffer bias = source.Read(name + ".bias", {channels});
  const int64_t positions = size * size;
  const Buffer rows(DType::kF32, {positions * channels, channels});
  const Buffer biases(DType::kF32, {positions * channels});
  for (int64_t in = 0; in < channels; ++in) {
    for (int64_t out = 0; out < channels; ++out) {
      const float* values = kernel.data<float>() + (in * channels + out) * positions;
      for (int64_t p = 0; p < positions; ++p) {
        rows.data<float>()[(p * channels + out) * channels + in] = values[p];
      }
    }
  }
  for (int64_t i = 0; i < positions * channels; ++i) {
    biases.data<float>()[i] = bias.data<float>()[i % channels];
  }
  return {FloatsOf(rows), FloatsOf(biases), {}, positions * channels, channels, setup};
}

// [rows, columns, channels] as [pixels, channels].
TensorView Pixels(const TensorView& image) {
  return image.Reshape({image.dim(0) * image.dim(1), image.dim(2)});
}

// Feature maps of the four levels, finest first.
std::array<Shape, 4> FeatureShapes(const PatchGrid& grid, int64_t features) {
  return {Shape{4 * grid.rows, 4 * grid.columns, features},
          Shape{2 * grid.rows, 2 * grid.columns, features},
          Shape{grid.rows, grid.columns, features},
          Shape{ops::ConvOutputSize(grid.rows, 3, 2), ops::ConvOutputSize(grid.columns, 3, 2),
                features}};
}

}  // namespace

PositionMap MakePositionMap(int64_t rows, int64_t columns, int64_t channels, double aspect,
                            const ops::Setup& setup) {
  const double diagonal = std::sqrt(aspect * aspect + 1.0);
  return {OnDevice(EncodePositions(columns, aspect / diagonal, channels / 2), setup),
          OnDevice(EncodePositions(rows, 1.0 / diagonal, channels / 2), setup)};
}

DepthHead::ResidualUnit DepthHead::LoadUnit(const TensorSource& source, const std::string& name,
                                            int64_t features, const ops::Setup& setup) {
  return {LoadConv(source, name + ".conv1", features, features, 3, 1, true, setup),
          LoadConv(source, name + ".conv2", features, features, 3, 1, true, setup)};
}

// A feature map that is overwritten before it is read.
TensorView DepthHead::NewMap(const BlockContext& context, const Shape& shape) const {
  return context.ops.arena().Allocate(setup_.storage, shape);
}

DepthHead::DepthHead(const TensorSource& source, const ModelConfig& config, const ops::Setup& setup)
    : setup_(setup.With(setup.features())),
      channels_(2 * int64_t{config.embed_dim}),
      patch_size_(config.patch_size),
      features_(config.dpt_features) {
  const std::string prefix = "depth_head.";
  const std::string scratch = prefix + "scratch.";
  norm_ = LoadNorm(source, prefix + "norm", channels_, kEps, setup_);
  for (int k = 0; k < 4; ++k) {
    level_channels_[k] = config.dpt_channels[k];
    const std::string level = std::to_string(k + 1);
    const std::string refine = scratch + "refinenet" + level + ".";
    projects_[k] = LoadPointwise(source, prefix + "projects." + std::to_string(k),
                                 level_channels_[k], channels_, setup_);
    adapt_[k] = LoadConv(source, scratch + "layer" + level + "_rn", features_, level_channels_[k],
                         3, 1, false, setup_);
    if (k < 3) fusions_[k].lateral = LoadUnit(source, refine + "resConfUnit1", features_, setup_);
    fusions_[k].merged = LoadUnit(source, refine + "resConfUnit2", features_, setup_);
    fusions_[k].out = LoadPointwise(source, refine + "out_conv", features_, features_, setup_);
  }
  enlarge4_ = LoadEnlarge(source, prefix + "resize_layers.0", level_channels_[0], 4, setup_);
  enlarge2_ = LoadEnlarge(source, prefix + "resize_layers.1", level_channels_[1], 2, setup_);
  reduce_ = LoadConv(source, prefix + "resize_layers.3", level_channels_[3], level_channels_[3], 3,
                     2, true, setup_);
  output1_ =
      LoadConv(source, scratch + "output_conv1", features_ / 2, features_, 3, 1, true, setup_);
  output2_ = LoadConv(source, scratch + "output_conv2.0", kOutputChannels, features_ / 2, 3, 1,
                      true, setup_);
  output3_ = LoadPointwise(source, scratch + "output_conv2.2", 2, kOutputChannels,
                           setup_.With(DType::kF32));
}

DepthHead::Tables DepthHead::MakeTables(const PatchGrid& grid) const {
  const int64_t height = grid.rows * patch_size_;
  const int64_t width = grid.columns * patch_size_;
  const double aspect = static_cast<double>(width) / static_cast<double>(height);
  Tables tables{
      grid, height, width, {}, MakePositionMap(height, width, features_ / 2, aspect, setup_)};
  for (int k = 0; k < 4; ++k) {
    tables.taps[k] = MakePositionMap(grid.rows, grid.columns, level_channels_[k], aspect, setup_);
  }
  return tables;
}

DepthHead::Features DepthHead::NewFeatures(const BlockContext& context,
                                           const PatchGrid& grid) const {
  Features features;
  const std::array<Shape, 4> shapes = FeatureShapes(grid, features_);
  for (int k = 0; k < 4; ++k) features[k] = NewMap(context, shapes[k]);
  return features;
}

void DepthHead::Forward(const BlockContext& context, const Features& features, const Tables& tables,
                        const TensorView& depth, const TensorView& confidence) const {
  const ops::Profile::Scope stage(context.profile, ops::Stage::kDepth);
  Arena& arena = context.ops.arena();
  const Arena::Scope scope(arena);
  const Shape& finest = features[0].shape();
  const TensorView fused = NewMap(context, {2 * finest[0], 2 * finest[1], features_});
  {
    const Arena::Scope inner(arena);
    Features merged;  // what level k+1 hands to level k, in level k's size
    for (int k = 0; k < 3; ++k) merged[k] = NewMap(context, features[k].shape());
    for (int k = 3; k >= 0; --k) {
      FuseLevel(context, k, k < 3 ? &merged[k] : nullptr, features[k],
                k > 0 ? merged[k - 1] : fused);
    }
  }
  Predict(context, fused, tables, depth, confidence);
}

// Tokens of one tap to the feature map of its level.
void DepthHead::Reassemble(const BlockContext& context, const TensorView& tap, const Tables& tables,
                           int level, const TensorView& feature) const {
  const ops::Profile::Scope stage(context.profile, ops::Stage::kDepth);
  ops::Context& ops = context.ops;
  Arena& arena = ops.arena();
  const Arena::Scope scope(arena);
  const PatchGrid& grid = tables.grid;
  const int64_t c = level_channels_[level];
  const TensorView normed = NewMap(context, {grid.patches(), channels_});
  ops::LayerNorm(ops, tap.Slice(0, grid.specials, grid.tokens()), norm_.gamma.view(),
                 norm_.beta.view(), norm_.eps, normed);
  TensorView map = NewMap(context, {grid.rows, grid.columns, c});
  ops::Linear(ops, normed, projects_[level], LinearEpilogue::kStore, Pixels(map));
  ops::AddPositionMap(ops, tables.taps[level].across.view(), tables.taps[level].down.view(), map);
  if (level < 2) {
    const int size = level == 0 ? 4 : 2;
    const TensorView rows = NewMap(context, {grid.rows, grid.columns, size * size * c});
    ops::Linear(ops, Pixels(map), level == 0 ? enlarge4_ : enlarge2_, LinearEpilogue::kStore,
                Pixels(rows));
    map = NewMap(context, {size * grid.rows, size * grid.columns, c});
    ops::DepthToSpace(ops, rows, size, map);
  } else if (level == 3) {
    const TensorView reduced = NewMap(context, {feature.dim(0), feature.dim(1), c});
    ops::Conv2d(ops, map, reduce_, ConvEpilogue::kStore, reduced);
    map = reduced;
  }
  ops::Conv2d(ops, map, adapt_[level], ConvEpilogue::kStore, feature);
}

// In place. The residual is the rectified input, as in the original, whose ReLU works in place.
void DepthHead::Residual(const BlockContext& context, const ResidualUnit& unit,
                         const TensorView& x) const {
  const Arena::Scope scope(context.ops.arena());
  const TensorView hidden = NewMap(context, x.shape());
  ops::Relu(context.ops, x);
  ops::Conv2d(context.ops, x, unit.conv1, ConvEpilogue::kRelu, hidden);
  ops::Conv2d(context.ops, hidden, unit.conv2, ConvEpilogue::kAccumulate, x);
}

// The original resizes before its 1x1 convolution; the two commute (interpolation weights sum to
// 1), and this order multiplies a quarter of the pixels.
void DepthHead::FuseLevel(const BlockContext& context, int level, const TensorView* coarser,
                          const TensorView& feature, const TensorView& finer) const {
  const Fusion& fusion = fusions_[level];
  if (coarser != nullptr) {
    Residual(context, fusion.lateral, feature);
    ops::Add(context.ops, *coarser, feature);
  }
  Residual(context, fusion.merged, feature);
  const Arena::Scope scope(context.ops.arena());
  const TensorView out = NewMap(context, feature.shape());
  ops::Linear(context.ops, Pixels(feature), fusion.out, LinearEpilogue::kStore, Pixels(out));
  ops::ResizeBilinear(context.ops, out, finer);
}

void DepthHead::Predict(const BlockContext& context, const TensorView& fused, const Tables& tables,
                        const TensorView& depth, const TensorView& confidence) const {
  ops::Context& ops = context.ops;
  Arena& arena = ops.arena();
  const Arena::Scope scope(arena);
  const TensorView hidden = NewMap(context, {tables.height, tables.width, kOutputChannels});
  {
    const Arena::Scope inner(arena);
    const TensorView image = NewMap(context, {tables.height, tables.width, features_ / 2});
    {
      const Arena::Scope innermost(arena);
      const TensorView coarse = NewMap(context, {fused.dim(0), fused.dim(1), features_ / 2});
      ops::Conv2d(ops, fused, output1_, ConvEpilogue::kStore, coarse);
      ops::ResizeBilinearAddMap(ops, coarse, tables.image.across.view(), tables.image.down.view(),
                                image);
    }
    ops::Conv2d(ops, image, output2_, ConvEpilogue::kRelu, hidden);
  }
  ops::PredictDepth(ops, Pixels(hidden), output3_, depth, confidence);
}

namespace {

// `maps` stores what feature maps are made of.
size_t MapBytes(const ops::Setup& maps, int64_t count) {
  return Arena::BytesFor(maps.storage, count);
}

}  // namespace

size_t DepthHead::FeatureBytes(const ModelConfig& config, const ops::Setup& setup,
                               const PatchGrid& grid) {
  size_t total = 0;
  for (const Shape& shape : FeatureShapes(grid, config.dpt_features)) {
    total += MapBytes(setup.With(setup.features()), shape.elements());
  }
  return total;
}

size_t DepthHead::ReassemblyBytes(const ModelConfig& config, const ops::Setup& setup,
                                  const PatchGrid& grid) {
  const ops::Setup maps = setup.With(setup.features());
  size_t most = 0;
  for (int level = 0; level < 4; ++level) {
    const int64_t c = config.dpt_channels[level];
    const int64_t side = level == 0 ? 4 : level == 1 ? 2 : 1;
    const size_t adapting = ops::Conv2dWorkspaceBytes(maps, side * grid.rows, side * grid.columns,
                                                      c, config.dpt_features, 3, 1);
    const size_t reducing = ops::Conv2dWorkspaceBytes(maps, grid.rows, grid.columns, c, c, 3, 2);
    const size_t held = MapBytes(maps, grid.patches() * 2 * config.embed_dim) +
                        MapBytes(maps, grid.patches() * c) +
                        2 * MapBytes(maps, side * side * grid.patches() * c);
    most = std::max(most, held + std::max(adapting, reducing));
  }
  return most;
}

size_t DepthHead::WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                                 const PatchGrid& grid) {
  const ops::Setup maps = setup.With(setup.features());
  const int64_t features = config.dpt_features;
  const int64_t height = grid.rows * config.patch_size;
  const int64_t width = grid.columns * config.patch_size;
  const std::array<Shape, 4> shapes = FeatureShapes(grid, features);
  const int64_t rows = shapes[0][0];
  const int64_t columns = shapes[0][1];
  size_t merged = 0;
  for (int k = 0; k < 3; ++k) merged += MapBytes(maps, shapes[k].elements());
  const size_t fusing = MapBytes(maps, shapes[0].elements()) +
                        ops::Conv2dWorkspaceBytes(maps, rows, columns, features, features, 3, 1);
  const size_t fused = MapBytes(maps, 4 * rows * columns * features);

  const size_t first =
      MapBytes(maps, 4 * rows * columns * (features / 2)) +
      ops::Conv2dWorkspaceBytes(maps, 2 * rows, 2 * columns, features, features / 2, 3, 1);
  const size_t second =
      ops::Conv2dWorkspaceBytes(maps, height, width, features / 2, kOutputChannels, 3, 1);
  const size_t predicting =
      MapBytes(maps, height * width * kOutputChannels) +
      std::max(MapBytes(maps, height * width * (features / 2)) + std::max(first, second),
               ops::PredictDepthWorkspaceBytes(setup, height * width));
  constexpr size_t kResizeTap = 64;  // bytes per column of a resize table, rounded up
  return fused + std::max(merged + fusing, predicting) +
         kResizeTap * static_cast<size_t>(width + 2 * columns + 2);
}

size_t DepthHead::bytes() const {
  size_t total = norm_.bytes() + enlarge4_.bytes() + enlarge2_.bytes() + reduce_.bytes() +
                 output1_.bytes() + output2_.bytes() + output3_.bytes();
  for (int k = 0; k < 4; ++k) {
    total += projects_[k].bytes() + adapt_[k].bytes() + fusions_[k].bytes();
  }
  return total;
}

}  // namespace lingbot
