#include "engine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using ::testing::HasSubstr;

ModelInfo ReleasedModel() {
  ModelInfo model;
  model.img_size = 518;
  model.patch_size = 14;
  model.embed_dim = 1024;
  model.mlp_ratio = 4;
  model.num_heads = 16;
  model.vit_depth = model.depth = 24;
  model.taps = {4, 11, 17, 23};
  model.camera_depth = 4;
  model.camera_heads = 16;
  model.dpt_features = 256;
  model.dpt_channels = {256, 512, 1024, 1024};
  model.camera_iterations = 4;
  model.scale_frames = 8;
  model.sliding_window = 64;
  model.precision = Precision::kBFloat16;
  return model;
}

// K and V of 972 patches, 1024 channels, two bytes, 24 blocks, 8 + 64 + 1 pages.
TEST(MemoryPlanTest, PatchCacheOfTheReleasedModel) {
  const MemoryPlan plan = PlanMemory(ReleasedModel(), 378, 504, {});
  const uint64_t exact = uint64_t{2} * 972 * 1024 * 2 * 24 * 73;
  EXPECT_GE(plan.patch_cache, exact);
  EXPECT_LE(plan.patch_cache, exact + exact / 50);
}

TEST(MemoryPlanTest, ShortClipsAndFewerPassesNeedLess) {
  SessionOptions options;
  const MemoryPlan full = PlanMemory(ReleasedModel(), 378, 504, options);
  options.expected_frames = 16;
  const MemoryPlan clip = PlanMemory(ReleasedModel(), 378, 504, options);
  EXPECT_LT(clip.patch_cache, full.patch_cache / 4);
  options.expected_frames = 0;
  options.camera_iterations = 1;
  const MemoryPlan single = PlanMemory(ReleasedModel(), 378, 504, options);
  EXPECT_NEAR(static_cast<double>(full.camera_cache), 4.0 * single.camera_cache,
              0.01 * full.camera_cache);
}

TEST(MemoryPlanTest, OptionsOutOfRangeAreNamed) {
  const auto message = [](const std::function<void(SessionOptions&)>& change, int height = 378,
                          int width = 504) -> std::string {
    SessionOptions options;
    change(options);
    try {
      PlanMemory(ReleasedModel(), height, width, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message([](auto& o) { o.scale_frames = -1; }), HasSubstr("scale_frames"));
  EXPECT_THAT(message([](auto& o) { o.sliding_window = -5; }), HasSubstr("sliding_window"));
  EXPECT_THAT(message([](auto& o) { o.keyframe_interval = 0; }), HasSubstr("keyframe_interval"));
  EXPECT_THAT(message([](auto& o) { o.keyframe_motion = -0.1; }), HasSubstr("keyframe_motion"));
  EXPECT_THAT(message([](auto& o) { o.keyframe_motion = std::nan(""); }),
              HasSubstr("keyframe_motion"));
  EXPECT_THAT(message([](auto& o) {
                o.keyframe_motion = 0.1;
                o.keyframe_interval = 2;
              }),
              HasSubstr("exclude each other"));
  EXPECT_THAT(message([](auto& o) { o.keyframe_max_gap = 0; }), HasSubstr("keyframe_max_gap"));
  EXPECT_THAT(message([](auto& o) { o.camera_iterations = 65; }), HasSubstr("camera_iterations"));
  EXPECT_THAT(message([](auto& o) { o.trajectory_frames = 0; }), HasSubstr("trajectory_frames"));
  EXPECT_THAT(message([](auto& o) { o.expected_frames = -1; }), HasSubstr("expected_frames"));
  const auto nothing = [](auto&) {};
  EXPECT_THAT(message(nothing, 0), HasSubstr("height"));
  EXPECT_THAT(message(nothing, -14), HasSubstr("height"));
  EXPECT_THAT(message(nothing, 378, 1 << 30), HasSubstr("width"));
  EXPECT_THAT(message(nothing, 378, 505), HasSubstr("505x378"));
}

std::string MessageAt(uint64_t limit) {
  SessionOptions options;
  options.memory_limit = limit;
  try {
    CheckMemory(ReleasedModel(), 378, 504, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    return error.what();
  }
  return "fits";
}

TEST(MemoryPlanTest, LimitIsExact) {
  const uint64_t needed = PlanMemory(ReleasedModel(), 378, 504, {}).total();
  EXPECT_EQ(MessageAt(needed), "fits");
  EXPECT_THAT(MessageAt(needed - 1), HasSubstr("the limit"));
}

TEST(MemoryPlanTest, AdvisedWindowFits) {
  const uint64_t needed = PlanMemory(ReleasedModel(), 378, 504, {}).total();
  const uint64_t limit = needed - needed / 8;
  const std::string message = MessageAt(limit);
  const std::string key = "would fit: window ";
  const size_t at = message.find(key);
  ASSERT_NE(at, std::string::npos) << message;
  SessionOptions options;
  options.memory_limit = limit;
  options.sliding_window = std::stoi(message.substr(at + key.size()));
  EXPECT_NO_THROW(CheckMemory(ReleasedModel(), 378, 504, options));
}

TEST(MemoryPlanTest, ImpossibleLimitSaysSo) {
  EXPECT_THAT(MessageAt(1), HasSubstr("no window or image size of this model fits"));
}

}  // namespace
}  // namespace lingbot
