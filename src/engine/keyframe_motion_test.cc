// Keyframes chosen by motion.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "engine/test_stream.h"
#include "geometry/induced_motion.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests
using ::testing::ElementsAre;

constexpr double kHuge = 1e9;
constexpr double kTiny = 1e-30;

SessionOptions MotionOptions(double motion, int max_gap) {
  SessionOptions options = SmallOptions();
  options.camera_iterations = 1;
  options.keyframe_motion = motion;
  options.keyframe_max_gap = max_gap;
  return options;
}

std::vector<int64_t> Keyframes(const Results& results) {
  std::vector<int64_t> frames;
  for (const Recorded& result : results) {
    if (result.keyframe) frames.push_back(result.index);
  }
  return frames;
}

// The network's poses replaced: frame i stands at `x`(i), looking ahead.
Results RunAlong(Session& session, const Frames& frames, const std::function<float(int)>& x) {
  Results results;
  for (size_t i = 0; i < frames.size(); ++i) {
    session.impl().stream().set_observer([&](const char* name, int, const TensorView& poses) {
      if (std::string(name) != "pose_iter") return;
      for (int64_t frame = 0; frame < poses.dim(0); ++frame) {
        const int64_t index = static_cast<int64_t>(i) + 1 - poses.dim(0) + frame;
        const float pose[] = {x(static_cast<int>(index)), 0, 0, 0, 0, 0, 1, 1.0f, 1.2f};
        std::copy_n(pose, kPoseSize, poses[frame].data<float>());
      }
    });
    session.Add(frames[i], RecordInto(results));
  }
  session.impl().stream().set_observer(nullptr);
  return results;
}

TEST(KeyframeMotionTest, HugeThresholdLeavesTheGapToDecide) {
  const Results results = RunFresh(MakeFrames(15), MotionOptions(kHuge, 4));
  ASSERT_EQ(results.size(), 15u);
  EXPECT_THAT(Keyframes(results), ElementsAre(0, 1, 2, 6, 10, 14));
  EXPECT_EQ(results.back().cache.stored_frames, 6);
  EXPECT_EQ(results.back().cache.window_pages, 2);
  EXPECT_EQ(results.back().cache.special_tokens, 6 * 6);
}

// Frame 5 is the first that finds the window full: decided afterwards, it has seen window + 1
// pages, where every frame of interval 1 sees a window.
TEST(KeyframeMotionTest, TinyThresholdKeepsAllAfterAWindowAndOnePage) {
  const Frames frames = MakeFrames(12);
  const Results results = RunFresh(frames, MotionOptions(kTiny, 30));
  EXPECT_EQ(Keyframes(results).size(), frames.size());
  SessionOptions interval = MotionOptions(0, 30);
  EXPECT_EQ(FirstDifference(results, RunFresh(frames, interval)), 5);
  for (size_t i = 3; i < results.size(); ++i) {
    EXPECT_EQ(results[i].cache.stored_frames, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(results[i].cache.window_pages, std::min<int64_t>(2, i - 2)) << i;
  }
  SessionOptions wide = MotionOptions(kTiny, 30);
  wide.sliding_window = interval.sliding_window = 12;
  EXPECT_EQ(FirstDifference(RunFresh(frames, wide), RunFresh(frames, interval)), kIdentical);
}

// Against the rule applied to the results from outside.
TEST(KeyframeMotionTest, KeepsWhatHasMovedFurtherThanTheThreshold) {
  const Frames frames = MakeFrames(24);
  const auto path = [](int i) { return 0.01f * static_cast<float>(i * i % 17); };
  constexpr int kGap = 5;
  std::map<double, size_t> kept;
  for (const double threshold : {0.005, 0.02, 0.06}) {
    Session session(SmallModel(), kHeight, kWidth, MotionOptions(threshold, kGap));
    const Results results = RunAlong(session, frames, path);
    ASSERT_EQ(results.size(), frames.size());
    MotionReference reference(kHeight, kWidth);
    int64_t last = 2;
    int by_motion = 0, by_gap = 0;
    for (const Recorded& result : results) {
      const double motion = reference.MotionTo(result.pose).value_or(0);
      const bool moved = result.index > 2 && motion > threshold;
      const bool due = result.index > 2 && result.index - last >= kGap;
      EXPECT_EQ(result.keyframe, result.index <= 2 || moved || due) << result.index;
      by_motion += moved && !due;
      by_gap += due && !moved;
      if (!result.keyframe) continue;
      reference.Set(result.pose, result.depth);
      last = result.index;
    }
    EXPECT_EQ(session.occupancy().stored_frames, static_cast<int64_t>(Keyframes(results).size()));
    EXPECT_GT(by_motion + by_gap, 0);
    kept[threshold] = Keyframes(results).size();
  }
  EXPECT_GT(kept[0.005], kept[0.02]);
  EXPECT_GT(kept[0.02], kept[0.06]);
}

TEST(KeyframeMotionTest, AStandingCameraStoresByTheGapAlone) {
  Session session(SmallModel(), kHeight, kWidth, MotionOptions(1e-6, 6));
  const Results results = RunAlong(session, MakeFrames(16), [](int) { return 0.5f; });
  EXPECT_THAT(Keyframes(results), ElementsAre(0, 1, 2, 8, 14));
}

// All later frames would attend to it.
TEST(KeyframeMotionTest, AFrameWithoutAFinitePoseIsNeverStored) {
  Session session(SmallModel(), kHeight, kWidth, MotionOptions(kHuge, 2));
  const Results results = RunAlong(session, MakeFrames(9), [](int i) {
    return i == 4 || i == 5 ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  });
  EXPECT_THAT(Keyframes(results), ElementsAre(0, 1, 2, 6, 8));
}

TEST(KeyframeMotionTest, MotionFromAKeyframeThatCannotBeMeasuredLeavesTheGap) {
  Session session(SmallModel(), kHeight, kWidth, MotionOptions(kTiny, 3));
  const Results results = RunAlong(session, MakeFrames(8), [](int i) {
    return i == 2 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i);
  });
  EXPECT_THAT(Keyframes(results), ElementsAre(0, 1, 2, 5, 6, 7));
}

TEST(KeyframeMotionTest, RepeatsItselfAlsoAfterReset) {
  const Frames frames = MakeFrames(14);
  const SessionOptions options = MotionOptions(0.01, 4);
  Session session(SmallModel(), kHeight, kWidth, options);
  const Results first = RunStream(session, frames);
  session.Reset();
  RunStream(session, MakeFrames(9, kHeight, kWidth, 3));
  session.Reset();
  EXPECT_EQ(FirstDifference(RunStream(session, frames), first), kIdentical);
}

TEST(KeyframeMotionTest, ShortStreams) {
  for (const int count : {1, 2, 3, 4}) {
    const Results results = RunFresh(MakeFrames(count), MotionOptions(kTiny, 30));
    EXPECT_EQ(Keyframes(results).size(), static_cast<size_t>(count));
  }
}

// Wherever the step fails, up to the decision itself, the session goes on as if it had not been.
TEST(KeyframeMotionTest, AFailedStepLeavesNoTrace) {
  SessionOptions options = MotionOptions(0.01, 3);
  options.poison_cache = true;
  options.trajectory_frames = 6;
  const Frames frames = MakeFrames(13);
  const Results expected = RunFresh(frames, options);
  Session session(SmallModel(), kHeight, kWidth, options);
  Stream& stream = session.impl().stream();
  Results results;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i >= 3) {
      stream.set_observer([&](const char*, int index, const TensorView&) {
        if (index == 2) throw std::runtime_error("observer");
      });
      EXPECT_THROW(session.Add(frames[i], nullptr), std::runtime_error);
      stream.set_observer(nullptr);
      std::copy(frames[i].begin(), frames[i].end(), stream.input()[0].data<float>());
      EXPECT_THROW(stream.Step(static_cast<int64_t>(i), 1, StepKind::kUndecided,
                               []() -> bool { throw std::runtime_error("decision"); }),
                   std::runtime_error);
    }
    session.Add(frames[i], RecordInto(results));
  }
  EXPECT_EQ(FirstDifference(results, expected), kIdentical);
}

TEST(KeyframeMotionTest, StrictBudgetRefusesOnlyFramesToBeStored) {
  SessionOptions options = MotionOptions(kHuge, 3);
  options.trajectory_frames = 4;
  options.strict = true;
  Session session(SmallModel(), kHeight, kWidth, options);
  const Frames frames = MakeFrames(9);
  for (int i = 0; i < 8; ++i) session.Add(frames[i], nullptr);  // 5 is stored, 8 is due
  try {
    session.Add(frames[8], nullptr);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTrajectoryFull);
  }
  EXPECT_EQ(session.occupancy().stored_frames, 4);
}

// The plan holds whatever the motion: a clip of known length can come to store every frame.
TEST(KeyframeMotionTest, PlannedMemoryIsEnough) {
  for (const int length : {3, 4, 6, 12}) {
    SessionOptions options = MotionOptions(kTiny, 30);
    options.expected_frames = length;
    EXPECT_EQ(RunFresh(MakeFrames(length), options).size(), static_cast<size_t>(length));
  }
  SessionOptions unknown = MotionOptions(kTiny, 30);
  const uint64_t most = PlanMemory(SmallModel().info(), kHeight, kWidth, unknown).patch_cache;
  unknown.expected_frames = 5;
  EXPECT_LT(PlanMemory(SmallModel().info(), kHeight, kWidth, unknown).patch_cache, most + 1);
}

TEST(KeyframeMotionTest, WindowsRefuseIt) {
  try {
    WindowedSession session(SmallModel(), kHeight, kWidth, MotionOptions(0.1, 30), {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("keyframe_interval"));
  }
}

}  // namespace
}  // namespace lingbot
