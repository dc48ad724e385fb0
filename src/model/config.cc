#include "model/config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace lingbot {
namespace {

using Json = nlohmann::json;

constexpr int kReleasedDepth = 24;
constexpr std::array<int, 4> kReleasedTaps = {4, 11, 17, 23};
constexpr int kReleasedCameraHeads = 16;
constexpr int64_t kLargestSize = 1 << 20;  // of any dimension that a config holds as int

// Shape of a tensor that tells a size; its rank must be `rank`.
const Shape& ShapeOf(const TensorSource& source, const std::string& name, int rank) {
  const auto found = source.tensors().find(name);
  Check(
      found != source.tensors().end(), ErrorCode::kMissingTensor,
      "{} has no tensor {}: it is not a checkpoint of this network (or it is incomplete; download "
      "it again)",
      source.name(), name);
  const Shape& shape = found->second.shape;
  Check(shape.rank() == rank && shape.elements() > 0, ErrorCode::kShapeMismatch,
        "tensor {} of {} has shape {}; expected {} dimensions, none of them 0", name, source.name(),
        shape, rank);
  return shape;
}

int SizeAt(const TensorSource& source, const std::string& name, int rank, int axis) {
  const int64_t size = ShapeOf(source, name, rank)[axis];
  Check(size <= kLargestSize, ErrorCode::kShapeMismatch,
        "tensor {} of {} has a dimension of {}; at most {} is supported", name, source.name(), size,
        kLargestSize);
  return static_cast<int>(size);
}

// Number of consecutive blocks PREFIX0.SUFFIX, PREFIX1.SUFFIX, ...
int CountBlocks(const TensorSource& source, const std::string& prefix) {
  int count = 0;
  while (source.tensors().contains(prefix + std::to_string(count) + ".norm1.weight")) ++count;
  Check(count > 0, ErrorCode::kMissingTensor, "{} has no tensor {}0.norm1.weight", source.name(),
        prefix);
  return count;
}

// The JSON of the metadata entry "config"; an empty object if there is none.
Json ConfigMetadata(const TensorSource& source) {
  const auto found = source.metadata().find("config");
  if (found == source.metadata().end()) return Json::object();
  Json json = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  Check(json.is_object(), ErrorCode::kCorruptFile,
        "the metadata entry \"config\" of {} is not a JSON object", source.name());
  return json;
}

// Integer entry `key` in [1, 1e6], or `fallback` if absent.
int IntegerOr(const Json& json, const TensorSource& source, const char* key, int fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  const bool valid = found->is_number_integer() && *found >= 1 && *found <= 1'000'000;
  Check(valid, ErrorCode::kCorruptFile,
        "the metadata entry \"{}\" of {} is {}; expected a whole number between 1 and 1,000,000",
        key, source.name(), found->dump());
  return found->get<int>();
}

// A metadata entry that repeats a size told by shapes must agree with it.
void CheckAgrees(const Json& json, const TensorSource& source, const char* key, int actual) {
  const int stated = IntegerOr(json, source, key, actual);
  Check(stated == actual, ErrorCode::kCorruptFile,
        "the metadata of {} says {} = {}, its tensors say {}", source.name(), key, stated, actual);
}

std::array<int, 4> TapsOf(const Json& json, const TensorSource& source, int depth) {
  const auto found = json.find("taps");
  if (found == json.end()) {
    Check(depth == kReleasedDepth, ErrorCode::kUnsupportedFormat,
          "{} does not say which of its {} blocks feed the heads: add metadata config {{\"taps\": "
          "[a, b, c, d]}} (the released network with {} blocks needs none)",
          source.name(), depth, kReleasedDepth);
    return kReleasedTaps;
  }
  std::array<int, 4> taps{};
  bool valid = found->is_array() && found->size() == 4;
  for (size_t i = 0; valid && i < 4; ++i) {
    const Json& tap = (*found)[i];
    valid = tap.is_number_integer() && tap >= 0 && tap < depth;
    if (valid) taps[i] = tap.get<int>();
    valid = valid && (i == 0 || taps[i] > taps[i - 1]);
  }
  Check(valid, ErrorCode::kCorruptFile,
        "the metadata entry \"taps\" of {} is {}; expected four increasing block numbers below {}",
        source.name(), found->dump(), depth);
  return taps;
}

// Side of the square position table 1 + G*G, in patches.
int GridSide(const TensorSource& source) {
  const std::string name = "aggregator.patch_embed.pos_embed";
  const int rows = SizeAt(source, name, 3, 1) - 1;
  const int side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(rows))));
  Check(side > 0 && side * side == rows, ErrorCode::kShapeMismatch,
        "tensor {} of {} has shape {}; expected [1, 1 + G*G, channels]", name, source.name(),
        ShapeOf(source, name, 3));
  return side;
}

ModelTensorSizes SizesOf(const ModelConfig& config) {
  ModelTensorSizes sizes;
  sizes.img_size = config.img_size;
  sizes.patch_size = config.patch_size;
  sizes.embed_dim = config.embed_dim;
  sizes.num_heads = config.num_heads;
  sizes.depth = config.depth;
  sizes.vit_depth = config.vit_depth;
  sizes.camera_depth = config.camera_depth;
  sizes.mlp_ratio = config.mlp_ratio;
  sizes.dpt_features = config.dpt_features;
  for (int i = 0; i < 4; ++i) sizes.dpt_channels[i] = config.dpt_channels[i];
  return sizes;
}

void ReadShapes(const TensorSource& source, ModelConfig& config) {
  const std::string patch_kernel = "aggregator.patch_embed.patch_embed.proj.weight";
  config.embed_dim = SizeAt(source, patch_kernel, 4, 0);
  config.patch_size = SizeAt(source, patch_kernel, 4, 3);
  config.img_size = GridSide(source) * config.patch_size;
  config.vit_depth = CountBlocks(source, "aggregator.patch_embed.blocks.");
  config.depth = CountBlocks(source, "aggregator.global_blocks.");
  config.camera_depth = CountBlocks(source, "camera_head.trunk.");
  const int head_dim = SizeAt(source, "aggregator.global_blocks.0.attn.q_norm.weight", 1, 0);
  Check(config.embed_dim % head_dim == 0, ErrorCode::kShapeMismatch,
        "{} has {} channels, which heads of {} channels do not divide", source.name(),
        config.embed_dim, head_dim);
  config.num_heads = config.embed_dim / head_dim;
  config.mlp_ratio =
      SizeAt(source, "aggregator.global_blocks.0.mlp.fc1.weight", 2, 0) / config.embed_dim;
  config.dpt_features = SizeAt(source, "depth_head.scratch.layer1_rn.weight", 4, 0);
  for (int i = 0; i < 4; ++i) {
    config.dpt_channels[i] =
        SizeAt(source, "depth_head.projects." + std::to_string(i) + ".weight", 4, 0);
  }
}

}  // namespace

ModelConfig InferConfig(const TensorSource& source) {
  ModelConfig config;
  ReadShapes(source, config);
  const Json json = ConfigMetadata(source);
  CheckAgrees(json, source, "img_size", config.img_size);
  CheckAgrees(json, source, "embed_dim", config.embed_dim);
  CheckAgrees(json, source, "num_heads", config.num_heads);
  CheckAgrees(json, source, "depth", config.depth);
  CheckAgrees(json, source, "vit_depth", config.vit_depth);
  CheckAgrees(json, source, "camera_depth", config.camera_depth);
  CheckAgrees(json, source, "dpt_features", config.dpt_features);
  config.taps = TapsOf(json, source, config.depth);
  config.camera_heads = IntegerOr(json, source, "camera_heads", kReleasedCameraHeads);
  config.camera_iterations = IntegerOr(json, source, "camera_iterations", config.camera_iterations);
  config.scale_frames = IntegerOr(json, source, "scale_frames", config.scale_frames);
  config.sliding_window = IntegerOr(json, source, "sliding_window", config.sliding_window);
  Check(2 * config.embed_dim % config.camera_heads == 0, ErrorCode::kCorruptFile,
        "{} has a camera head of {} channels, which {} heads do not divide; its metadata config "
        "needs "
        "\"camera_heads\"",
        source.name(), 2 * config.embed_dim, config.camera_heads);
  return config;
}

std::map<std::string, Shape> ExpectedTensors(const ModelConfig& config) {
  return ModelTensorShapes(SizesOf(config));
}

void CheckTensors(const TensorSource& source, const ModelConfig& config) {
  for (const auto& [name, shape] : ExpectedTensors(config)) {
    // Of use in training only: masked patches do not occur here.
    if (name == "aggregator.patch_embed.mask_token") continue;
    const auto found = source.tensors().find(name);
    Check(found != source.tensors().end(), ErrorCode::kMissingTensor,
          "{} has no tensor {} (expected shape {}): the file is incomplete or of another network",
          source.name(), name, shape);
    Check(found->second.shape == shape, ErrorCode::kShapeMismatch,
          "tensor {} of {} has shape {}; expected {}", name, source.name(), found->second.shape,
          shape);
  }
}

std::vector<std::string> UnusedTensors(const TensorSource& source, const ModelConfig& config) {
  const std::map<std::string, Shape> expected = ExpectedTensors(config);
  std::vector<std::string> unused;
  for (const auto& [name, info] : source.tensors()) {
    if (!expected.contains(name)) unused.push_back(name);
  }
  return unused;
}

}  // namespace lingbot
