#include <gtest/gtest.h>

#include "base/system_memory.h"
#include "engine/test_stream.h"
#include "lingbot/error.h"
#include "lingbot/session.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests

Results RunWindowed(const Frames& frames, const SessionOptions& options,
                    const WindowedOptions& windows) {
  WindowedSession session(SmallModel(), kHeight, kWidth, options, windows);
  return RunStream(session, frames);
}

TEST(WindowedSessionTest, SingleWindowEqualsSession) {
  SessionOptions options = SmallOptions();
  options.keyframe_interval = 2;
  WindowedOptions windows;
  windows.window_size = 8;  // 3 + 5 * 2 = 13 frames
  const Frames frames = MakeFrames(13);
  const Results plain = RunFresh(frames, options);
  const Results windowed = RunWindowed(frames, options, windows);
  ASSERT_EQ(windowed.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(windowed[i].index, plain[i].index);
    EXPECT_EQ(windowed[i].keyframe, plain[i].keyframe);
    EXPECT_TRUE(SameBits(windowed[i].depth, plain[i].depth)) << i;
    EXPECT_TRUE(SameBits(windowed[i].confidence, plain[i].confidence)) << i;
    // The quaternion comes back with unit length and w >= 0.
    double norm = 0.0;
    for (int k = 3; k < 7; ++k) norm += double{plain[i].pose[k]} * plain[i].pose[k];
    const double factor = (plain[i].pose[6] < 0 ? -1.0 : 1.0) / std::sqrt(norm);
    for (int k = 0; k < 9; ++k) {
      const bool quaternion = k >= 3 && k < 7;
      EXPECT_NEAR(windowed[i].pose[k], plain[i].pose[k] * (quaternion ? factor : 1.0), 1e-6)
          << i << ", " << k;
    }
  }
}

struct Combination {
  int window, interval, overlap_frames, overlap_keyframes;
};
class Combinations : public ::testing::TestWithParam<Combination> {};

TEST_P(Combinations, EveryFrameOnceAndIndependentOfTheStreamsEnd) {
  const Combination& c = GetParam();
  SessionOptions options = SmallOptions();
  options.scale_frames = 2;
  options.keyframe_interval = c.interval;
  options.camera_iterations = 1;
  WindowedOptions windows;
  windows.window_size = c.window;
  windows.overlap_frames = c.overlap_frames;
  windows.overlap_keyframes = c.overlap_keyframes;
  const Frames frames = MakeFrames(13);
  const Results longest = RunWindowed(frames, options, windows);
  for (const int count : {1, 2, 4, 5, 6, 7, 13}) {
    const Results results = RunWindowed({frames.begin(), frames.begin() + count}, options, windows);
    ASSERT_EQ(static_cast<int>(results.size()), count);
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(results[i].index, i);
      ASSERT_TRUE(std::isfinite(results[i].pose[0]) && std::isfinite(results[i].depth[0]));
    }
    // The first frame is final long before the end is known, unless it shares the scale step with
    // fewer frames.
    if (count >= 2) {
      EXPECT_TRUE(SameBits(results[0].depth, longest[0].depth)) << count;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Windows, Combinations,
                         ::testing::Values(Combination{4, 1, 0, 0}, Combination{4, 2, 0, 0},
                                           Combination{5, 1, 4, 0}, Combination{4, 2, 0, 2},
                                           Combination{3, 1, 1, 0}));

// A frame is delivered as soon as nothing can change it: with the frame itself, unless the next
// window decides about it, or the window's place is still to be found.
TEST(WindowedSessionTest, DeliversWhatIsKnownAtOnce) {
  for (const auto& [window, overlap] : {std::pair{7, 3}, {7, 1}, {7, 5}, {8, 3}}) {
    WindowedOptions windows;
    windows.window_size = window;
    windows.overlap_frames = overlap;
    WindowedSession session(SmallModel(), kHeight, kWidth, SmallOptions(), windows);
    const int64_t step = window - overlap;
    int64_t k = 0;  // the window that takes the frame
    Results results;
    const Frames frames = MakeFrames(24);
    for (int64_t frame = 0; frame < 24; ++frame) {
      session.Add(frames[frame], RecordInto(results));
      if (frame == k * step + window) ++k;
      const int64_t fed = frame - k * step + 1;
      const int64_t scale = 3;
      const int64_t expected = k * step + (fed < scale ? 0 : std::min(fed, step));
      EXPECT_EQ(static_cast<int64_t>(results.size()), expected)
          << "frame " << frame << " of windows of " << window << ", overlap " << overlap;
      EXPECT_EQ(static_cast<int64_t>(session.transforms().size()),
                std::max<int64_t>(1, fed < scale ? k : k + 1));
    }
    session.Finish(RecordInto(results));
    EXPECT_EQ(results.size(), frames.size());
  }
}

// What one window has taken serves all others.
TEST(WindowedSessionTest, MemoryDoesNotGrowWithTheNumberOfWindows) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer keeps what was freed";
#endif
  SessionOptions options = SmallOptions();
  options.camera_iterations = 1;
  WindowedOptions windows;
  windows.window_size = 5;  // overlap 3, step 2
  constexpr int kSide = 112;
  WindowedSession session(SmallModel(), kSide, kSide, options, windows);
  const Frames frames = MakeFrames(6, kSide, kSide);
  int64_t delivered = 0;
  const auto add = [&](int count) {
    for (int i = 0; i < count; ++i) {
      session.Add(frames[i % frames.size()], [&](const FrameResult&) { ++delivered; });
    }
  };
  add(9);
  const uint64_t after_some = PeakResidentMemory();
  add(50);
  EXPECT_GE(session.transforms().size(), 25u);
  EXPECT_GE(delivered, 50);
  // A frame's image alone has 150 kB.
  EXPECT_LE(PeakResidentMemory(), after_some + 300'000);
}

TEST(WindowedSessionTest, ReportsWhereWindowsBegin) {
  SessionOptions options = SmallOptions();
  WindowedOptions windows;
  windows.window_size = 5;  // overlap 3, step 2
  WindowedSession session(SmallModel(), kHeight, kWidth, options, windows);
  RunStream(session, MakeFrames(9));
  ASSERT_EQ(session.transforms().size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(session.transforms()[k].first_frame, static_cast<int64_t>(2 * k));
    EXPECT_GT(session.transforms()[k].scale, 0);
  }
  EXPECT_EQ(session.transforms()[0].scale, 1);
}

TEST(WindowedSessionTest, OverlapMustBeShorterThanTheWindow) {
  WindowedOptions windows;
  windows.window_size = 4;
  windows.overlap_frames = 4;
  EXPECT_THROW(WindowedSession(SmallModel(), kHeight, kWidth, SmallOptions(), windows), Error);
}

TEST(WindowedSessionTest, FinishedStreamTakesNoFrames) {
  WindowedSession session(SmallModel(), kHeight, kWidth, SmallOptions(), {});
  const Frames frames = MakeFrames(2);
  EXPECT_EQ(RunStream(session, frames).size(), 2u);
  EXPECT_THROW(session.Add(frames[0], nullptr), Error);
}

}  // namespace
}  // namespace lingbot
