#include "tools/hashed_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "weights/checkpoint.h"
#include "weights/test_support.h"

namespace lingbot {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// A network of a few thousand numbers.
Json TinyConfig() {
  return Json::parse(R"({
    "img_size": 28, "embed_dim": 8, "num_heads": 2, "depth": 4, "vit_depth": 1, "mlp_ratio": 2,
    "taps": [0, 1, 2, 3], "camera_depth": 1, "camera_heads": 4, "camera_iterations": 3,
    "dpt_features": 8, "dpt_channels": [4, 4, 8, 8], "scale_frames": 3, "sliding_window": 5,
    "seed": 7, "fc2_bias_offset": -0.4})");
}

TEST(MakeHashedModel, TakesSizesFromTheConfiguration) {
  const HashedWeights weights = MakeHashedModel(TinyConfig());
  const ModelConfig config = InferConfig(weights);
  EXPECT_EQ(config.img_size, 28);
  EXPECT_EQ(config.embed_dim, 8);
  EXPECT_EQ(config.num_heads, 2);
  EXPECT_EQ(config.depth, 4);
  EXPECT_EQ(config.vit_depth, 1);
  EXPECT_EQ(config.mlp_ratio, 2);
  EXPECT_EQ(config.taps, (std::array<int, 4>{0, 1, 2, 3}));
  EXPECT_EQ(config.camera_depth, 1);
  EXPECT_EQ(config.camera_heads, 4);
  EXPECT_EQ(config.camera_iterations, 3);
  EXPECT_EQ(config.dpt_features, 8);
  EXPECT_EQ(config.dpt_channels, (std::array<int, 4>{4, 4, 8, 8}));
  EXPECT_EQ(config.scale_frames, 3);
  EXPECT_EQ(config.sliding_window, 5);
}

TEST(MakeHashedModel, IsTheReleasedNetworkByDefault) {
  const ModelConfig config = InferConfig(MakeHashedModel(Json::object()));
  EXPECT_EQ(config.embed_dim, 1024);
  EXPECT_EQ(config.depth, 24);
  EXPECT_EQ(config.camera_heads, 16);
  EXPECT_EQ(config.taps, (std::array<int, 4>{4, 11, 17, 23}));
}

TEST(MakeHashedModel, HashesWithTheSeedAndTheOffset) {
  const HashedWeights weights = MakeHashedModel(TinyConfig());
  const std::string name = "camera_head.pose_branch.fc2.bias";
  const auto expected = static_cast<float>(static_cast<double>(HashedUniform(7, name, 4)) * 0.1f +
                                           static_cast<double>(-0.4f));
  EXPECT_EQ(Values(weights, name)[4], expected);
}

TEST(MakeHashedModel, LeavesTheRunOutOfItsMetadata) {
  Json config = TinyConfig();
  config["frames"] = 24;
  config["probe_frames"] = {1, 2};
  const HashedWeights weights = MakeHashedModel(config);
  EXPECT_EQ(Json::parse(weights.metadata().at("config")), TinyConfig());
}

TEST(MakeHashedModel, RefusesWhatIsNoConfiguration) {
  const auto with = [](const char* key, const Json& value) {
    return [=] {
      Json config = TinyConfig();
      config[key] = value;
      MakeHashedModel(config);
    };
  };
  const auto refused = [&](const char* key, const Json& value) {
    ExpectError(ErrorCode::kInvalidArgument, {key}, with(key, value));
  };
  // Seen when the result is read as a checkpoint would be.
  const auto refused_as_content = [&](const char* key, const Json& value) {
    ExpectError(ErrorCode::kCorruptFile, {key}, with(key, value));
  };
  refused("embed_dim", "8");
  refused("embed_dim", 0);
  refused("embed_dim", -8);
  refused("embed_dim", 8.5);
  refused("embed_dim", 1'000'000'000'000);
  refused("dpt_channels", {4, 4, 8});
  refused("dpt_channels", {4, 4, 8, "8"});
  refused("dpt_channels", 4);
  refused("seed", -1);
  refused("seed", 1.5);
  refused("fc2_bias_offset", "1");
  refused("fc2_bias_offset", 1e39);
  refused_as_content("taps", {0, 1, 2, 4});
  refused_as_content("camera_heads", 5);
  refused_as_content("scale_frames", 0);
  ExpectError(ErrorCode::kInvalidArgument, {"JSON object"}, [] { MakeHashedModel(Json::array()); });
}

TEST(WriteCheckpoint, KeepsEveryBitAndTheMetadata) {
  const HashedWeights weights = MakeHashedModel(TinyConfig());
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  WriteCheckpoint(weights, path, DType::kF32);
  VerifyCheckpoint(weights, path);
  const auto written = OpenCheckpoint(path);
  EXPECT_EQ(written->metadata(), weights.metadata());
  ASSERT_EQ(written->tensors().size(), weights.tensors().size());
  for (const auto& [name, info] : weights.tensors()) {
    EXPECT_EQ(written->Find(name).shape, info.shape) << name;
    EXPECT_EQ(Values(*written, name), Values(weights, name)) << name;
  }
}

TEST(WriteCheckpoint, RoundsToBFloat16) {
  const HashedWeights weights = MakeHashedModel(TinyConfig());
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  WriteCheckpoint(weights, path, DType::kBF16);
  const auto written = OpenCheckpoint(path);
  for (const auto& [name, info] : weights.tensors()) {
    EXPECT_EQ(written->Find(name).dtype, DType::kBF16) << name;
    std::vector<float> expected = Values(weights, name);
    for (float& value : expected) value = ToFloat(ToBFloat16(value));
    EXPECT_EQ(Values(*written, name), expected) << name;
  }
}

TEST(WriteCheckpoint, LeavesNothingBehindWhenItFails) {
  const HashedWeights weights = MakeHashedModel(TinyConfig());
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "half.safetensors";
  ExpectError(ErrorCode::kInvalidArgument, {"int64"},
              [&] { WriteCheckpoint(weights, path, DType::kI64); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ExpectError(ErrorCode::kFileUnwritable, {"nowhere"},
              [&] { WriteCheckpoint(weights, folder / "nowhere/model.safetensors", DType::kF32); });
}

TEST(VerifyCheckpoint, NoticesAnotherModel) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  WriteCheckpoint(MakeHashedModel(TinyConfig()), path, DType::kF32);
  Json other = TinyConfig();
  other["sliding_window"] = 6;
  ExpectError(ErrorCode::kCorruptFile, {"metadata"},
              [&] { VerifyCheckpoint(MakeHashedModel(other), path); });
}

TEST(ReadModelConfig, ReadsAFileAndRefusesOthers) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& text) { return WriteFile(folder / "c.json", text); };
  EXPECT_EQ(ReadModelConfig(file(TinyConfig().dump())), TinyConfig());
  ExpectError(ErrorCode::kCorruptFile, {"JSON object"}, [&] { ReadModelConfig(file("{")); });
  ExpectError(ErrorCode::kCorruptFile, {"JSON object"}, [&] { ReadModelConfig(file("")); });
  ExpectError(ErrorCode::kCorruptFile, {"JSON object"}, [&] { ReadModelConfig(file("[1]")); });
  ExpectError(ErrorCode::kInvalidArgument, {"\"embed_dims\""},
              [&] { ReadModelConfig(file(R"({"embed_dims": 8})")); });
  ExpectError(ErrorCode::kFileNotFound, {"absent"}, [&] { ReadModelConfig(folder / "absent"); });
  ExpectError(ErrorCode::kFileUnreadable, {"cannot be read"},
              [&] { ReadModelConfig(folder.path()); });
}

TEST(ReadGoldenConfig, NeedsTheEntry) {
  const auto golden = [](std::map<std::string, std::string> metadata) {
    return HashedWeights({}, 1, 1.0f, std::move(metadata));
  };
  EXPECT_EQ(ReadGoldenConfig(golden({{"config", R"({"seed": 3})"}}))["seed"], 3);
  ExpectError(ErrorCode::kInvalidArgument, {"\"config\""}, [&] { ReadGoldenConfig(golden({})); });
  ExpectError(ErrorCode::kCorruptFile, {"JSON object"}, [&] {
    ReadGoldenConfig(golden({{"config", "3"}}));
  });
}

TEST(ReadGoldenConfig, DescribesTheRecordedModels) {
  const std::filesystem::path golden = SharedFile("golden/full_stream.safetensors");
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "no recorded outputs in " << golden;
  const HashedWeights weights = MakeHashedModel(ReadGoldenConfig(*OpenCheckpoint(golden)));
  const ModelConfig config = InferConfig(weights);
  EXPECT_EQ(weights.tensors().size(), 1342u);
  EXPECT_EQ(config.scale_frames, 4);
  EXPECT_EQ(config.sliding_window, 5);
  EXPECT_THAT(weights.name(), HasSubstr("seed 7"));
}

}  // namespace
}  // namespace lingbot
