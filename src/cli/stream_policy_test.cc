#include "cli/stream_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

using ::testing::HasSubstr;

constexpr int kScale = 8;

StreamPolicy Choose(const RunOptions& options, int64_t frames) {
  return ChooseStreamPolicy(options, frames, kScale);
}

TEST(StreamPolicyTest, ChoosesTheKeyframeInterval) {
  EXPECT_EQ(AutomaticKeyframeInterval(1), 1);
  EXPECT_EQ(AutomaticKeyframeInterval(320), 1);
  EXPECT_EQ(AutomaticKeyframeInterval(321), 2);
  EXPECT_EQ(AutomaticKeyframeInterval(640), 2);
  EXPECT_EQ(AutomaticKeyframeInterval(1180), 4);
  EXPECT_EQ(AutomaticKeyframeInterval(5000), 16);
}

TEST(StreamPolicyTest, KnownLengthIsOneStreamByTheInterval) {
  const StreamPolicy policy = Choose({}, 1180);
  EXPECT_FALSE(policy.windows);
  EXPECT_EQ(policy.keyframe_interval, 4);
  EXPECT_EQ(policy.keyframe_motion, 0);
  EXPECT_EQ(policy.keyframes, "keyframe interval 4 (automatic for 1180 frames)");
}

TEST(StreamPolicyTest, UnknownLengthIsOneStreamByMotion) {
  const StreamPolicy policy = Choose({}, 0);
  EXPECT_FALSE(policy.windows);
  EXPECT_EQ(policy.keyframe_interval, 1);
  EXPECT_EQ(policy.keyframe_motion, kDefaultKeyframeMotion);
  EXPECT_THAT(policy.keyframes, HasSubstr("by motion"));
  EXPECT_THAT(policy.keyframes, HasSubstr("30 frames"));
  EXPECT_THAT(policy.keyframes, HasSubstr("automatic for an unknown number of frames"));
  EXPECT_THAT(policy.mode_reason, HasSubstr("unknown"));
}

TEST(StreamPolicyTest, WhatIsAskedForIsDone) {
  RunOptions options;
  options.keyframe_interval = 3;
  EXPECT_EQ(Choose(options, 0).keyframe_motion, 0);
  EXPECT_EQ(Choose(options, 0).keyframe_interval, 3);
  EXPECT_EQ(Choose(options, 5000).keyframe_interval, 3);
  options = {};
  options.keyframe_motion = 0.2;
  EXPECT_EQ(Choose(options, 100).keyframe_motion, 0.2);
  EXPECT_EQ(Choose(options, 100).keyframe_interval, 1);
  EXPECT_FALSE(Choose(options, 100'000).windows);
  options.keyframe_motion = 0;
  EXPECT_EQ(Choose(options, 0).keyframe_motion, 0);
  EXPECT_EQ(Choose(options, 0).keyframes, "keyframe interval 1");
}

TEST(StreamPolicyTest, WindowsBeginWhereOneStreamStoresTooMuch) {
  EXPECT_FALSE(Choose({}, 3200 + kScale).windows);
  const StreamPolicy policy = Choose({}, 3201 + kScale);
  ASSERT_TRUE(policy.windows);
  EXPECT_EQ(policy.keyframe_interval, 10);
  EXPECT_EQ(policy.windows->window_size, 320 + kScale);
  EXPECT_EQ(policy.windows->overlap_keyframes, 1);
  EXPECT_THAT(policy.mode_reason, HasSubstr("3209 frames"));
  RunOptions options;
  options.keyframe_interval = 2;
  EXPECT_FALSE(Choose(options, 640 + kScale).windows);
  EXPECT_TRUE(Choose(options, 641 + kScale).windows);
  EXPECT_EQ(Choose(options, 641 + kScale).keyframe_interval, 2);
  options.mode = RunMode::kStreaming;
  EXPECT_FALSE(Choose(options, 1'000'000).windows);
  EXPECT_EQ(Choose(options, 1'000'000).mode_reason, "");
}

TEST(StreamPolicyTest, OptionsOfWindowsChooseThem) {
  RunOptions options;
  options.windows.overlap_frames = 12;
  EXPECT_TRUE(Choose(options, 50).windows);
  EXPECT_EQ(Choose(options, 50).windows->window_size, 64);
  EXPECT_EQ(Choose(options, 50).windows->overlap_frames, 12);
  EXPECT_THAT(Choose(options, 50).mode_reason, HasSubstr("option"));
  options.mode = RunMode::kStreaming;
  EXPECT_FALSE(Choose(options, 50).windows);
  options = {};
  options.mode = RunMode::kWindowed;
  EXPECT_EQ(Choose(options, 5000).windows->window_size, 64);
  EXPECT_EQ(Choose(options, 5000).keyframe_interval, 1);
  EXPECT_EQ(Choose(options, 0).keyframe_motion, 0);
}

TEST(StreamPolicyTest, RefusesMotionInWindows) {
  RunOptions options;
  options.mode = RunMode::kWindowed;
  options.keyframe_motion = 0.1;
  EXPECT_THROW(Choose(options, 100), Error);
  options.keyframe_motion = 0;
  EXPECT_NO_THROW(Choose(options, 100));
}

}  // namespace
}  // namespace lingbot::cli
