#include "lingbot/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_stream.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests
using ::testing::HasSubstr;

class StreamLength : public ::testing::TestWithParam<int> {};

TEST_P(StreamLength, DeliversEveryFrameOnceAndInOrder) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 3;
  const int count = GetParam();
  const Results results = RunFresh(MakeFrames(count), options);
  ASSERT_EQ(static_cast<int>(results.size()), count);
  int stored = 0;
  for (int i = 0; i < count; ++i) {
    const bool keyframe = i < 3 || (i - 3) % 3 == 0;
    EXPECT_EQ(results[i].index, i);
    EXPECT_EQ(results[i].keyframe, keyframe) << i;
    stored += keyframe ? 1 : 0;
    const int expected = i < 3 ? std::min(count, 3) : stored;
    EXPECT_EQ(results[i].cache.stored_frames, expected) << i;
    EXPECT_EQ(results[i].cache.special_tokens, 6 * expected) << i;
    EXPECT_EQ(results[i].depth.size(), size_t{kHeight} * kWidth);
    for (const float value : results[i].depth) ASSERT_TRUE(std::isfinite(value) && value > 0);
    for (const float value : results[i].confidence) ASSERT_TRUE(std::isfinite(value) && value >= 1);
  }
}
INSTANTIATE_TEST_SUITE_P(AroundTheScaleFrames, StreamLength, ::testing::Values(1, 2, 3, 4, 12));

TEST(SessionTest, HoldsScaleFramesBackUntilTheyAreComplete) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  const Frames frames = MakeFrames(4);
  const size_t expected[] = {0, 0, 3, 4};
  Results results;
  for (int i = 0; i < 4; ++i) {
    session.Add(frames[i], RecordInto(results));
    EXPECT_EQ(results.size(), expected[i]);
  }
}

TEST(SessionTest, EmptyStreamFinishesWithoutResults) {
  EXPECT_TRUE(RunFresh({}, SmallOptions()).empty());
}

// The example of a long clip: every seventh frame of 320 is stored after 8 scale frames.
TEST(SessionTest, LongClipFillsTheCacheAsComputedByHand) {
  SessionOptions options;
  options.scale_frames = 8;
  options.sliding_window = 64;
  options.keyframe_interval = 7;
  options.threads = 1;
  options.camera_iterations = 1;
  Session session(SmallModel(), 14, 14, options);
  const Results results = RunStream(session, MakeFrames(320, 14, 14));
  ASSERT_EQ(results.size(), 320u);
  int streamed_keyframes = 0;
  for (const Recorded& result : results) streamed_keyframes += result.keyframe && result.index >= 8;
  EXPECT_EQ(streamed_keyframes, 45);
  const CacheOccupancy& cache = results.back().cache;
  EXPECT_EQ(cache.stored_frames, 53);
  EXPECT_EQ(cache.scale_pages, 8);
  EXPECT_EQ(cache.window_pages, 45);
  EXPECT_EQ(cache.special_tokens, 318);
  EXPECT_EQ(cache.special_pages, 318);  // a page holds one token where a frame has one patch
}

TEST(SessionTest, TwoInterleavedSessionsDoNotAffectEachOther) {
  SessionOptions other = SmallOptions();
  other.keyframe_interval = 2;
  other.scale_frames = 2;
  const Frames first_frames = MakeFrames(9), second_frames = MakeFrames(9, kHeight, kWidth, 2);
  Session first(SmallModel(), kHeight, kWidth, SmallOptions());
  Session second(SmallModel(), kHeight, kWidth, other);
  Results first_results, second_results;
  for (int i = 0; i < 9; ++i) {
    first.Add(first_frames[i], RecordInto(first_results));
    second.Add(second_frames[i], RecordInto(second_results));
  }
  EXPECT_EQ(FirstDifference(first_results, RunFresh(first_frames, SmallOptions())), kIdentical);
  EXPECT_EQ(FirstDifference(second_results, RunFresh(second_frames, other)), kIdentical);
}

TEST(SessionTest, ResetStreamEqualsFreshSession) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  options.poison_cache = true;
  Session session(SmallModel(), kHeight, kWidth, options);
  const Frames second = MakeFrames(13, kHeight, kWidth, 5);
  for (const int length : {14, 2, 4, 0}) {
    RunStream(session, MakeFrames(length));
    session.Reset();
    EXPECT_EQ(session.occupancy().stored_frames, 0);
    EXPECT_EQ(FirstDifference(RunStream(session, second), RunFresh(second, options)), kIdentical)
        << "after a stream of " << length;
    session.Reset();
  }
}

TEST(SessionTest, ResetForgetsHeldBackFrames) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  session.Add(MakeFrames(1, kHeight, kWidth, 9)[0], nullptr);
  session.Reset();
  const Frames frames = MakeFrames(5);
  EXPECT_EQ(FirstDifference(RunStream(session, frames), RunFresh(frames, SmallOptions())),
            kIdentical);
}

TEST(SessionTest, RepeatsItselfForAnyNumberOfThreads) {
  const Frames frames = MakeFrames(9);
  for (const int threads : {1, 2}) {
    SessionOptions options = SmallOptions();
    options.threads = threads;
    const Results once = RunFresh(frames, options);
    EXPECT_EQ(FirstDifference(once, RunFresh(frames, options)), kIdentical) << threads;
  }
}

TEST(SessionTest, ResultsDependOnThePast) {
  Frames frames = MakeFrames(8);
  const Results before = RunFresh(frames, SmallOptions());
  frames[1] = MakeFrames(1, kHeight, kWidth, 77)[0];  // long out of the window, but a scale frame
  const Results after = RunFresh(frames, SmallOptions());
  EXPECT_GT(PoseDistance(before[7].pose, after[7].pose), 1e-4);
}

class EveryBackend : public ::testing::TestWithParam<AttentionBackend> {};

TEST_P(EveryBackend, AgreesWithTheReference) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  options.attention = AttentionBackend::kReference;
  const Frames frames = MakeFrames(13);
  const Results expected = RunFresh(frames, options);
  options.attention = GetParam();
  const Results results = RunFresh(frames, options);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_LE(PoseDistance(results[i].pose, expected[i].pose), 3e-5) << i;
    EXPECT_LE(RelativeL2(results[i].depth, expected[i].depth), 1e-5) << i;
    EXPECT_LE(RelativeL2(results[i].confidence, expected[i].confidence), 1e-5) << i;
  }
}

TEST_P(EveryBackend, NeverReadsUnwrittenCacheAndIgnoresItsLayout) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  options.attention = GetParam();
  const Frames frames = MakeFrames(13);
  const Results expected = RunFresh(frames, options);
  options.poison_cache = true;
  EXPECT_EQ(FirstDifference(RunFresh(frames, options), expected), kIdentical);
  // The layouts hold the special tokens in opposite orders: sums may round differently.
  options.kv_layout = KvLayout::kInterleaved;
  const Results interleaved = RunFresh(frames, options);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(PoseDistance(interleaved[i].pose, expected[i].pose), 1e-5);
    EXPECT_LE(RelativeL2(interleaved[i].depth, expected[i].depth), 5e-6);
  }
}
INSTANTIATE_TEST_SUITE_P(All, EveryBackend,
                         ::testing::Values(AttentionBackend::kReference, AttentionBackend::kCpu,
                                           AttentionBackend::kSdpa));

struct FrameSize {
  int height, width;
};
class OddFrameSize : public ::testing::TestWithParam<FrameSize> {};

// The arena refuses what the plan did not foresee, so that a run without an error proves the plan.
TEST_P(OddFrameSize, RunsWithinItsPlan) {
  const auto [height, width] = GetParam();
  for (const auto backend :
       {AttentionBackend::kReference, AttentionBackend::kCpu, AttentionBackend::kSdpa}) {
    for (const int scale_frames : {1, 3}) {
      SessionOptions options = SmallOptions();
      options.attention = backend;
      options.scale_frames = scale_frames;
      options.trajectory_frames = 6;
      options.keyframe_interval = 2;
      Session session(SmallModel(), height, width, options);
      const Results results = RunStream(session, MakeFrames(11, height, width));
      ASSERT_EQ(results.size(), 11u);
      for (const float value : results.back().depth) ASSERT_TRUE(std::isfinite(value));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Grids, OddFrameSize,
                         ::testing::Values(FrameSize{14, 14}, FrameSize{14, 70}, FrameSize{70, 14},
                                           FrameSize{42, 98}, FrameSize{70, 56}));

TEST(SessionErrorTest, FrameOfAnotherSizeIsRefusedAndLeavesNoTrace) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  const Frames frames = MakeFrames(6);
  std::vector<float> wrong(frames[0].size() - 1);
  std::vector<float> nan = frames[0];
  nan.back() = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> infinite = frames[0];
  infinite.front() = std::numeric_limits<float>::infinity();
  const auto code_of = [&](const std::vector<float>& frame, const std::string& text) {
    try {
      session.Add(frame, nullptr);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
      return error.code();
    }
    ADD_FAILURE() << "accepted";
    return ErrorCode::kInternal;
  };
  Results results;
  for (size_t i = 0; i < frames.size(); ++i) {
    const std::string name = "frame " + std::to_string(i);
    EXPECT_EQ(code_of(wrong, name), ErrorCode::kShapeMismatch);
    EXPECT_EQ(code_of({}, name), ErrorCode::kShapeMismatch);
    EXPECT_EQ(code_of(nan, name), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of(infinite, name), ErrorCode::kInvalidArgument);
    session.Add(frames[i], RecordInto(results));
  }
  EXPECT_EQ(FirstDifference(results, RunFresh(frames, SmallOptions())), kIdentical);
}

TEST(SessionErrorTest, FinishedStreamTakesNoFrames) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  const Frames frames = MakeFrames(2);
  EXPECT_EQ(RunStream(session, frames).size(), 2u);
  EXPECT_THROW(session.Add(frames[0], nullptr), Error);
  EXPECT_NO_THROW(session.Finish(nullptr));
  session.Reset();
  EXPECT_EQ(RunStream(session, frames).size(), 2u);
}

// Throws at the n-th observed point, one point after the other, until a step passes.
template <typename Step>
int FailAtEveryPoint(Session& session, const Step& step) {
  for (int fatal = 0;; ++fatal) {
    int seen = 0;
    session.impl().stream().set_observer([&](const char*, int, const TensorView&) {
      if (seen++ == fatal) throw std::runtime_error("observer");
    });
    try {
      step();
      session.impl().stream().set_observer(nullptr);
      return fatal;
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "observer");
    }
  }
}

class FailingStep : public ::testing::TestWithParam<AttentionBackend> {};

TEST_P(FailingStep, LeavesTheSessionAsItWas) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  options.trajectory_frames = 6;
  options.poison_cache = true;
  options.attention = GetParam();
  const Frames frames = MakeFrames(12);
  Session session(SmallModel(), kHeight, kWidth, options);
  Results results;
  for (size_t i = 0; i < frames.size(); ++i) {
    const int points =
        FailAtEveryPoint(session, [&] { session.Add(frames[i], RecordInto(results)); });
    // Patch tokens, 4 + 4 blocks, 4 passes; none while the scale frames are collected.
    EXPECT_EQ(points, i < 2 ? 0 : 13) << i;
  }
  EXPECT_EQ(FirstDifference(results, RunFresh(frames, options)), kIdentical);
}
INSTANTIATE_TEST_SUITE_P(All, FailingStep,
                         ::testing::Values(AttentionBackend::kCpu, AttentionBackend::kSdpa));

TEST(SessionErrorTest, FailureInFinishCanBeRepeated) {
  Session session(SmallModel(), kHeight, kWidth, SmallOptions());
  const Frames frames = MakeFrames(2);
  Results results;
  for (const auto& frame : frames) session.Add(frame, RecordInto(results));
  EXPECT_EQ(FailAtEveryPoint(session, [&] { session.Finish(RecordInto(results)); }), 13);
  EXPECT_EQ(FirstDifference(results, RunFresh(frames, SmallOptions())), kIdentical);
}

TEST(SessionErrorTest, ExceptionOfTheCallbackPassesAfterTheFrameIsStored) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  const Frames frames = MakeFrames(10);
  Session session(SmallModel(), kHeight, kWidth, options);
  Results results;
  const ResultCallback record = RecordInto(results);
  const ResultCallback recording_thrower = [&](const FrameResult& result) {
    record(result);
    if (result.index >= 2) throw std::runtime_error("callback");
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i < 2) {
      session.Add(frames[i], recording_thrower);
    } else {
      EXPECT_THROW(session.Add(frames[i], recording_thrower), std::runtime_error);
    }
  }
  EXPECT_EQ(FirstDifference(results, RunFresh(frames, options)), kIdentical);
}

TEST(TrajectoryTest, StrictBudgetRefusesTheFrameAndStaysUsable) {
  SessionOptions options = SmallOptions();
  options.trajectory_frames = 5;
  options.strict = true;
  const Frames frames = MakeFrames(6);
  Session session(SmallModel(), kHeight, kWidth, options);
  Results results;
  for (int i = 0; i < 5; ++i) session.Add(frames[i], RecordInto(results));
  for (int attempt = 0; attempt < 3; ++attempt) {
    try {
      session.Add(frames[5], RecordInto(results));
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTrajectoryFull);
      EXPECT_THAT(error.what(), HasSubstr("trajectory_frames"));
    }
    EXPECT_EQ(session.occupancy().stored_frames, 5);
  }
  EXPECT_EQ(results.size(), 5u);
  session.Reset();
  EXPECT_EQ(FirstDifference(RunStream(session, {frames.begin(), frames.begin() + 5}), results),
            kIdentical);
}

// A frame that is not stored needs no room in the trajectory.
TEST(TrajectoryTest, StrictBudgetAllowsFramesThatAreNotStored) {
  SessionOptions options = SmallOptions();
  options.trajectory_frames = 4;
  options.keyframe_interval = 3;
  options.strict = true;
  Session session(SmallModel(), kHeight, kWidth, options);
  const Frames frames = MakeFrames(7);
  for (int i = 0; i < 6; ++i) session.Add(frames[i], nullptr);
  EXPECT_THROW(session.Add(frames[6], nullptr), Error);
}

TEST(TrajectoryTest, ThinsOldFramesAndSaysSoOnce) {
  std::vector<std::string> lines;
  SessionOptions options = SmallOptions();
  options.trajectory_frames = 8;
  options.log = [&](const std::string& line) { lines.push_back(line); };
  Session session(SmallModel(), kHeight, kWidth, options);
  const Results results = RunStream(session, MakeFrames(40));
  ASSERT_EQ(results.size(), 40u);
  for (const Recorded& result : results) {
    EXPECT_EQ(result.cache.stored_frames, std::max<int64_t>(3, result.index + 1));
    EXPECT_LE(result.cache.special_tokens, 6 * 8);
    EXPECT_LE(result.cache.window_pages, 2);
  }
  EXPECT_EQ(lines.size(), 1u);
  // Up to the budget it makes no difference.
  options.trajectory_frames = 1024;
  const Results exact = RunFresh(MakeFrames(40), options);
  EXPECT_EQ(FirstDifference(results, exact), 8);
}

}  // namespace
}  // namespace lingbot
