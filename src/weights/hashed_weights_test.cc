#include "weights/hashed_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/model_tensors.h"
#include "weights/test_support.h"

namespace lingbot {
namespace {

TEST(HashedWeights, MatchesKnownValues) {
  EXPECT_EQ(HashedUniform(1, "aggregator.camera_token", 0), -0.31269097328186035f);
  EXPECT_EQ(HashedUniform(1, "aggregator.camera_token", 5), -0.754185676574707f);
  EXPECT_EQ(HashedUniform(1, "depth_head.norm.weight", 2), -0.09861302375793457f);
  EXPECT_EQ(HashedUniform(7, "aggregator.global_blocks.3.attn.qkv.weight", 3), 0.7625348567962646f);
}

TEST(HashedWeights, MatchesSharedSamples) {
  const auto path = SharedFile("golden/hash_samples.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto samples = nlohmann::json::parse(ReadFile(path));
  EXPECT_EQ(samples.size(), 3u);
  for (const auto& [key, values] : samples.items()) {
    const size_t slash = key.find('/');
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(HashedUniform(std::stoull(key.substr(0, slash)), key.substr(slash + 1), i),
                values[i].get<float>());
    }
  }
}

TEST(HashedWeights, ChoosesScaleAndOffsetByName) {
  const auto expect = [](const char* tensor, const Shape& shape, float scale, float offset) {
    const HashedRule rule = RuleFor(tensor, shape, -0.4f);
    EXPECT_EQ(rule.scale, scale) << tensor;
    EXPECT_EQ(rule.offset, offset) << tensor;
  };
  expect("aggregator.frame_blocks.0.attn.q_norm.weight", {64}, 0.5f, 2.0f);
  expect("aggregator.frame_blocks.0.attn.q_norm.bias", {64}, 0.1f, 0.0f);
  expect("aggregator.frame_blocks.0.attn.k_norm.weight", {64}, 0.25f, 1.0f);
  expect("aggregator.patch_embed.norm.weight", {8}, 0.25f, 1.0f);
  expect("camera_head.trunk_norm.bias", {8}, 0.1f, 0.0f);
  expect("camera_head.trunk.0.ls1.gamma", {8}, 0.2f, 0.4f);
  expect("aggregator.register_token", {1, 2, 4, 8}, 1.0f, 0.0f);
  expect("aggregator.patch_embed.register_tokens", {1, 4, 8}, 0.5f, 0.0f);
  expect("aggregator.patch_embed.pos_embed", {1, 5, 8}, 0.5f, 0.0f);
  expect("aggregator.patch_embed.mask_token", {1, 8}, 0.0f, 0.0f);
  expect("camera_head.empty_pose_tokens", {1, 1, 9}, 0.1f, 0.0f);
  expect("camera_head.embed_pose.weight", {4, 12}, 0.5f, 0.0f);
  expect("camera_head.pose_branch.fc2.weight", {9, 12}, static_cast<float>(0.5 * 0.3), 0.0f);
  expect("depth_head.scratch.output_conv2.2.weight", {2, 12, 1, 1}, 0.25f, 0.0f);
  expect("depth_head.resize_layers.0.weight", {12, 3, 4, 4}, 0.5f, 0.0f);
  expect("depth_head.resize_layers.3.weight", {5, 3, 2, 2}, 0.5f, 0.0f);
  expect("camera_head.pose_branch.fc2.bias", {9}, 0.1f, -0.4f);
  expect("depth_head.scratch.output_conv1.bias", {4}, 0.1f, 0.0f);
  EXPECT_THROW(RuleFor("what.is.this", {4}, 1.0f), Error);
}

TEST(HashedWeights, EvaluatesInDoubleForAnyNumberOfThreads) {
  const std::string tensor = "camera_head.pose_branch.fc2.bias";
  const std::map<std::string, Shape> shapes = {{tensor, {300'007}}};
  const HashedWeights one(shapes, 4, -0.4f, {{"k", "v"}}, 1);
  const HashedWeights three(shapes, 4, -0.4f, {}, 3);
  const std::vector<float> values = Values(one, tensor);
  EXPECT_EQ(values, Values(three, tensor));
  EXPECT_EQ(one.metadata().at("k"), "v");
  EXPECT_EQ(one.name(), "generated weights, seed 4");
  for (size_t i = 0; i < values.size(); ++i) {
    const double u = HashedUniform(4, tensor, i);
    ASSERT_EQ(values[i], static_cast<float>(u * double{0.1f} + double{-0.4f}));
  }
  EXPECT_THROW(one.Read(tensor, {9}), Error);
}

TEST(ModelTensors, FollowTheSizes) {
  ModelTensorSizes sizes{112, 14, 128, 2, 4, 2, 2, 4, 32, {32, 48, 64, 64}};
  const auto shapes = ModelTensorShapes(sizes);
  EXPECT_EQ(shapes.at("aggregator.patch_embed.pos_embed"), (Shape{1, 65, 128}));
  EXPECT_EQ(shapes.at("aggregator.global_blocks.3.attn.k_norm.bias"), (Shape{64}));
  EXPECT_EQ(shapes.at("camera_head.pose_branch.fc1.weight"), (Shape{128, 256}));
  EXPECT_EQ(shapes.at("depth_head.scratch.output_conv2.0.weight"), (Shape{32, 16, 3, 3}));
  EXPECT_EQ(shapes.at("depth_head.projects.1.weight"), (Shape{48, 256, 1, 1}));
  EXPECT_EQ(shapes.count("depth_head.scratch.refinenet4.resConfUnit1.conv1.weight"), 0u);
  int64_t parameters = 0;
  for (const auto& [name, shape] : shapes) parameters += shape.elements();
  EXPECT_NEAR(static_cast<double>(parameters), 4.2e6, 0.05e6);
  const HashedWeights weights(shapes, 1, 1.0f);  // a rule for every name
  EXPECT_EQ(weights.tensors().size(), shapes.size());
  sizes.num_heads = 3;
  EXPECT_THROW(ModelTensorShapes(sizes), Error);
  sizes = {};
  sizes.depth = 0;
  EXPECT_THROW(ModelTensorShapes(sizes), Error);
  sizes.depth = INT64_MAX;
  EXPECT_THROW(ModelTensorShapes(sizes), Error);
}

TEST(ModelTensors, CountTheReleasedModel) {
  const auto shapes = ModelTensorShapes({});
  EXPECT_EQ(shapes.size(), 1342u);
  int64_t parameters = 0;
  for (const auto& [name, shape] : shapes) parameters += shape.elements();
  EXPECT_EQ(parameters, 1'157'943'540);
}

TEST(ModelTensors, EqualTheReleasedNamesAndShapes) {
  const auto path = SharedFile("golden/tensor_names.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  std::map<std::string, std::vector<int64_t>> actual;
  for (const auto& [name, shape] : ModelTensorShapes({})) {
    actual[name].assign(shape.extents().begin(), shape.extents().end());
  }
  const auto expected = nlohmann::json::parse(ReadFile(path));
  EXPECT_EQ(actual, (expected.get<std::map<std::string, std::vector<int64_t>>>()));
}

}  // namespace
}  // namespace lingbot
