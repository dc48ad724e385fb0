#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using testing::HasSubstr;

// Names and shapes without contents: nothing here reads an element.
class ShapesOnly : public TensorSource {
 public:
  explicit ShapesOnly(const ModelTensorSizes& sizes) {
    for (const auto& [name, shape] : ModelTensorShapes(sizes)) {
      infos_[name] = {DType::kF32, shape};
    }
  }
  const std::map<std::string, TensorInfo>& tensors() const override { return infos_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::string& name() const override { return name_; }
  void ReadFloats(const std::string&, float*) const override { FAIL(); }

  std::map<std::string, TensorInfo> infos_;
  std::map<std::string, std::string> metadata_;

 private:
  std::string name_ = "shapes.safetensors";
};

ModelTensorSizes SmallSizes() {
  ModelTensorSizes sizes;
  sizes.img_size = 112;
  sizes.embed_dim = 128;
  sizes.num_heads = 2;
  sizes.depth = 5;
  sizes.vit_depth = 2;
  sizes.camera_depth = 3;
  sizes.dpt_features = 32;
  sizes.dpt_channels = {32, 48, 64, 64};
  return sizes;
}

// The message of the Error with `code` that `action` throws.
template <typename Action>
std::string MessageOf(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(InferConfig, ReadsTheReleasedNetworkFromShapesAlone) {
  const ShapesOnly source{ModelTensorSizes{}};
  EXPECT_EQ(source.tensors().size(), 1342u);
  const ModelConfig config = InferConfig(source);
  EXPECT_EQ(config.img_size, 518);
  EXPECT_EQ(config.patch_size, 14);
  EXPECT_EQ(config.embed_dim, 1024);
  EXPECT_EQ(config.num_heads, 16);
  EXPECT_EQ(config.mlp_ratio, 4);
  EXPECT_EQ(config.vit_depth, 24);
  EXPECT_EQ(config.depth, 24);
  EXPECT_EQ(config.camera_depth, 4);
  EXPECT_EQ(config.camera_heads, 16);
  EXPECT_EQ(config.camera_iterations, 4);
  EXPECT_EQ(config.dpt_features, 256);
  EXPECT_EQ(config.dpt_channels, (std::array<int, 4>{256, 512, 1024, 1024}));
  EXPECT_EQ(config.taps, (std::array<int, 4>{4, 11, 17, 23}));
  EXPECT_EQ(config.scale_frames, 8);
  EXPECT_EQ(config.sliding_window, 64);
  CheckTensors(source, config);
  EXPECT_TRUE(UnusedTensors(source, config).empty());
}

TEST(InferConfig, TakesWhatShapesCannotTellFromMetadata) {
  ShapesOnly source(SmallSizes());
  source.metadata_["config"] =
      R"({"taps": [0, 2, 3, 4], "camera_heads": 2, "scale_frames": 3, "sliding_window": 5,
          "camera_iterations": 2, "depth": 5, "seed": 7})";
  const ModelConfig config = InferConfig(source);
  EXPECT_EQ(config.taps, (std::array<int, 4>{0, 2, 3, 4}));
  EXPECT_EQ(config.camera_heads, 2);
  EXPECT_EQ(config.scale_frames, 3);
  EXPECT_EQ(config.sliding_window, 5);
  EXPECT_EQ(config.camera_iterations, 2);
  EXPECT_EQ(config.camera_depth, 3);
  EXPECT_EQ(config.num_heads, 2);
}

TEST(InferConfig, RefusesMetadataThatIsMissingOrWrong) {
  ShapesOnly source(SmallSizes());
  const auto infer = [&] { InferConfig(source); };
  EXPECT_THAT(MessageOf(ErrorCode::kUnsupportedFormat, infer), HasSubstr("taps"));
  source.metadata_["config"] = R"({"taps": [0, 1, 2, 5]})";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("below 5"));
  source.metadata_["config"] = R"({"taps": [0, 2, 1, 4]})";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("increasing"));
  source.metadata_["config"] = R"({"taps": [0, 1, 2, 3], "depth": 6})";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("depth = 6"));
  source.metadata_["config"] = R"({"taps": [0, 1, 2, 3], "camera_heads": 3})";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("camera_heads"));
  source.metadata_["config"] = R"({"taps": [0, 1, 2, 3], "scale_frames": -1})";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("scale_frames"));
  source.metadata_["config"] = "not JSON";
  EXPECT_THAT(MessageOf(ErrorCode::kCorruptFile, infer), HasSubstr("JSON"));
}

TEST(CheckTensors, NamesWhatIsMissingOrMisshapen) {
  ShapesOnly source(SmallSizes());
  source.metadata_["config"] = R"({"taps": [0, 2, 3, 4], "camera_heads": 2})";
  const ModelConfig config = InferConfig(source);
  const std::string name = "aggregator.frame_blocks.3.mlp.fc2.weight";
  source.infos_.at(name).shape = {512, 128};
  const std::string misshapen =
      MessageOf(ErrorCode::kShapeMismatch, [&] { CheckTensors(source, config); });
  EXPECT_THAT(misshapen, HasSubstr(name));
  EXPECT_THAT(misshapen, HasSubstr("[512, 128]"));
  EXPECT_THAT(misshapen, HasSubstr("[128, 512]"));
  source.infos_.erase(name);
  EXPECT_THAT(MessageOf(ErrorCode::kMissingTensor, [&] { CheckTensors(source, config); }),
              HasSubstr(name));
  source.infos_.erase("depth_head.scratch.layer1_rn.weight");
  EXPECT_THAT(MessageOf(ErrorCode::kMissingTensor, [&] { InferConfig(source); }),
              HasSubstr("layer1_rn"));
}

TEST(UnusedTensors, AreListed) {
  ShapesOnly source{ModelTensorSizes{}};
  source.infos_["point_head.norm.weight"] = {DType::kF32, {2048}};
  source.infos_["optimizer.step"] = {DType::kI64, {}};
  const ModelConfig config = InferConfig(source);
  CheckTensors(source, config);
  EXPECT_THAT(UnusedTensors(source, config),
              testing::ElementsAre("optimizer.step", "point_head.norm.weight"));
}

}  // namespace
}  // namespace lingbot
