#include "weights/model_tensors.h"

#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr int64_t kRegisters = 4;      // of the encoder, and per frame
constexpr int64_t kPoseSize = 9;       // translation 3, quaternion 4, field of view 2
constexpr int64_t kHeadChannels = 32;  // before the last convolution of the depth head
constexpr int64_t kDepthOutputs = 2;   // depth and confidence
constexpr int64_t kLargest = 1 << 16;  // of any size, so that products of three stay within 63 bits

void CheckSizes(const ModelTensorSizes& sizes) {
  const auto check = [](const char* name, int64_t value) {
    Check(value >= 1 && value <= kLargest, ErrorCode::kInvalidArgument,
          "model size {} must be between 1 and {}, got {}", name, kLargest, value);
  };
  check("img_size", sizes.img_size);
  check("patch_size", sizes.patch_size);
  check("embed_dim", sizes.embed_dim);
  check("num_heads", sizes.num_heads);
  check("depth", sizes.depth);
  check("vit_depth", sizes.vit_depth);
  check("camera_depth", sizes.camera_depth);
  check("mlp_ratio", sizes.mlp_ratio);
  check("dpt_features", sizes.dpt_features);
  for (const int64_t channels : sizes.dpt_channels) check("dpt_channels", channels);
  Check(sizes.embed_dim % sizes.num_heads == 0, ErrorCode::kInvalidArgument,
        "embed_dim {} is not a multiple of num_heads {}", sizes.embed_dim, sizes.num_heads);
  Check(sizes.img_size % sizes.patch_size == 0, ErrorCode::kInvalidArgument,
        "img_size {} is not a multiple of patch_size {}", sizes.img_size, sizes.patch_size);
  Check(sizes.dpt_features % 2 == 0, ErrorCode::kInvalidArgument, "dpt_features {} is not even",
        sizes.dpt_features);
}

// Collects the shapes of one model.
class ShapeList {
 public:
  explicit ShapeList(const ModelTensorSizes& sizes) : sizes_(sizes) {}

  std::map<std::string, Shape> Build() && {
    Encoder();
    for (int64_t i = 0; i < sizes_.depth; ++i) {
      Block(fmt::format("aggregator.frame_blocks.{}.", i), sizes_.embed_dim, /*head_norms=*/true);
      Block(fmt::format("aggregator.global_blocks.{}.", i), sizes_.embed_dim, /*head_norms=*/true);
    }
    CameraHead();
    DepthHead();
    return std::move(shapes_);
  }

 private:
  void Add(const std::string& name, const Shape& shape) { shapes_.emplace(name, shape); }

  void WeightAndBias(const std::string& name, const Shape& weight, int64_t bias) {
    Add(name + ".weight", weight);
    Add(name + ".bias", {bias});
  }
  void Linear(const std::string& name, int64_t out, int64_t in) {
    WeightAndBias(name, {out, in}, out);
  }
  void Conv(const std::string& name, int64_t out, int64_t in, int64_t side) {
    WeightAndBias(name, {out, in, side, side}, out);
  }
  void Norm(const std::string& name, int64_t width) { WeightAndBias(name, {width}, width); }

  void Block(const std::string& prefix, int64_t width, bool head_norms) {
    Norm(prefix + "norm1", width);
    Linear(prefix + "attn.qkv", 3 * width, width);
    if (head_norms) {
      Norm(prefix + "attn.q_norm", width / sizes_.num_heads);
      Norm(prefix + "attn.k_norm", width / sizes_.num_heads);
    }
    Linear(prefix + "attn.proj", width, width);
    Add(prefix + "ls1.gamma", {width});
    Norm(prefix + "norm2", width);
    Linear(prefix + "mlp.fc1", sizes_.mlp_ratio * width, width);
    Linear(prefix + "mlp.fc2", width, sizes_.mlp_ratio * width);
    Add(prefix + "ls2.gamma", {width});
  }

  void Encoder() {
    const int64_t width = sizes_.embed_dim;
    const int64_t grid = sizes_.img_size / sizes_.patch_size;
    Add("aggregator.camera_token", {1, 2, 1, width});
    Add("aggregator.register_token", {1, 2, kRegisters, width});
    Add("aggregator.scale_token", {1, 2, 1, width});
    const std::string vit = "aggregator.patch_embed.";
    Add(vit + "cls_token", {1, 1, width});
    Add(vit + "pos_embed", {1, 1 + grid * grid, width});
    Add(vit + "register_tokens", {1, kRegisters, width});
    Add(vit + "mask_token", {1, width});
    Conv(vit + "patch_embed.proj", width, 3, sizes_.patch_size);
    for (int64_t i = 0; i < sizes_.vit_depth; ++i) {
      Block(fmt::format("{}blocks.{}.", vit, i), width, /*head_norms=*/false);
    }
    Norm(vit + "norm", width);
  }

  void CameraHead() {
    const std::string head = "camera_head.";
    const int64_t width = 2 * sizes_.embed_dim;
    Add(head + "empty_pose_tokens", {1, 1, kPoseSize});
    for (int64_t i = 0; i < sizes_.camera_depth; ++i) {
      Block(fmt::format("{}trunk.{}.", head, i), width, /*head_norms=*/false);
    }
    Norm(head + "token_norm", width);
    Norm(head + "trunk_norm", width);
    Linear(head + "embed_pose", width, kPoseSize);
    Linear(head + "poseLN_modulation.1", 3 * width, width);
    Linear(head + "pose_branch.fc1", width / 2, width);
    Linear(head + "pose_branch.fc2", kPoseSize, width / 2);
  }

  void DepthHead() {
    const std::string head = "depth_head.";
    const auto& channels = sizes_.dpt_channels;
    const int64_t features = sizes_.dpt_features;
    Norm(head + "norm", 2 * sizes_.embed_dim);
    for (int k = 0; k < 4; ++k) {
      Conv(fmt::format("{}projects.{}", head, k), channels[k], 2 * sizes_.embed_dim, 1);
      Add(fmt::format("{}scratch.layer{}_rn.weight", head, k + 1), {features, channels[k], 3, 3});
    }
    Conv(head + "resize_layers.0", channels[0], channels[0], 4);  // [in, out, 4, 4], transposed
    Conv(head + "resize_layers.1", channels[1], channels[1], 2);  // [in, out, 2, 2], transposed
    Conv(head + "resize_layers.3", channels[3], channels[3], 3);  // layer 2 is the identity
    for (int k = 1; k <= 4; ++k) Fusion(fmt::format("{}scratch.refinenet{}.", head, k), k < 4);
    Conv(head + "scratch.output_conv1", features / 2, features, 3);
    Conv(head + "scratch.output_conv2.0", kHeadChannels, features / 2, 3);
    Conv(head + "scratch.output_conv2.2", kDepthOutputs, kHeadChannels, 1);
  }

  // The coarsest fusion has no finer input to add, hence no unit for it.
  void Fusion(const std::string& prefix, bool has_lateral) {
    const int64_t features = sizes_.dpt_features;
    Conv(prefix + "out_conv", features, features, 1);
    for (int unit = has_lateral ? 1 : 2; unit <= 2; ++unit) {
      Conv(fmt::format("{}resConfUnit{}.conv1", prefix, unit), features, features, 3);
      Conv(fmt::format("{}resConfUnit{}.conv2", prefix, unit), features, features, 3);
    }
  }

  const ModelTensorSizes& sizes_;
  std::map<std::string, Shape> shapes_;
};

}  // namespace

std::map<std::string, Shape> ModelTensorShapes(const ModelTensorSizes& sizes) {
  CheckSizes(sizes);
  return ShapeList(sizes).Build();
}

}  // namespace lingbot
