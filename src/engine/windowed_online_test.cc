// Windowed mode while frames come: what is passed on when, in bounded memory, and after failures.

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/system_memory.h"
#include "engine/test_stream.h"
#include "geometry/window_alignment.h"
#include "geometry/window_layout.h"
#include "lingbot/session.h"

namespace lingbot {
namespace {

using namespace lingbot::testing;  // NOLINT: the helpers of these tests

struct Extent {
  int window, overlap;
};

WindowedOptions WindowsOf(const Extent& extent) {
  WindowedOptions windows;
  windows.window_size = extent.window;
  windows.overlap_frames = extent.overlap;
  return windows;
}

SessionOptions FastOptions() {
  SessionOptions options = SmallOptions();
  options.camera_iterations = 1;
  return options;
}

WindowLayout LayoutOf(const Extent& extent) {
  WindowOptions options;
  options.scale_frames = 3;
  options.window_size = extent.window;
  options.overlap_size = extent.overlap;
  return PlanWindows(options);
}

// Window after window by sessions of their own, each aligned to the one before it once both are
// whole.
class Stitched {
 public:
  Stitched(const Frames& frames, const Extent& extent) {
    const WindowLayout layout = LayoutOf(extent);
    const OverlapPlan plan = PlanOverlap(layout);
    Results previous;
    for (const WindowSpan& span : SplitIntoWindows(layout, static_cast<int64_t>(frames.size()))) {
      Results window =
          RunFresh({frames.begin() + span.begin, frames.begin() + span.end}, FastOptions());
      WindowAlignment alignment;
      if (span.begin > 0) alignment = Align(layout, plan, previous, window);
      for (Recorded& result : window) {
        AlignDepth(alignment, result.depth);
        result.pose = AlignPose(alignment, result.pose);
        result.index += span.begin;
      }
      results.insert(results.end(), window.begin(), window.begin() + (span.emit_end - span.begin));
      previous = std::move(window);
    }
  }

  Results results;

 private:
  static WindowAlignment Align(const WindowLayout& layout, const OverlapPlan& plan,
                               const Results& previous, const Results& current) {
    std::vector<DepthPair> pairs;
    for (const int64_t i : plan.scale_frames) {
      pairs.push_back({previous[layout.step + i].depth, current[i].depth});
    }
    return AlignWindow(previous[layout.step + plan.anchor].pose, current[plan.anchor].pose,
                       MedianDepthScale(pairs));
  }
};

// Frames that nothing can change any more when `given` frames have come: those before the window
// that the next frame but one would begin, as soon as their window's place is known.
int64_t FinalFrames(const WindowLayout& layout, int64_t given) {
  int64_t window = 0;
  while (given > layout.Begin(window) + layout.window) ++window;
  const int64_t fed = given - layout.Begin(window);
  const bool processed = fed >= layout.scale_frames;  // before, the scale frames are held back
  return layout.Begin(window) + (processed ? std::min(fed, layout.step) : 0);
}

class OnlineWindows : public ::testing::TestWithParam<Extent> {};

TEST_P(OnlineWindows, FramesArriveAlignedAsSoonAsNothingCanChangeThem) {
  const WindowLayout layout = LayoutOf(GetParam());
  const Frames frames = MakeFrames(18);
  const Results expected = Stitched(frames, GetParam()).results;
  ASSERT_EQ(expected.size(), frames.size());
  WindowedSession session(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  Results results;
  const auto check_new = [&](size_t from) {
    for (size_t i = from; i < results.size(); ++i) {
      EXPECT_EQ(results[i].index, static_cast<int64_t>(i));
      EXPECT_TRUE(SameBits(results[i].depth, expected[i].depth)) << i;
      EXPECT_TRUE(SameBits(results[i].confidence, expected[i].confidence)) << i;
      EXPECT_EQ(results[i].pose, expected[i].pose) << i;
    }
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    const size_t before = results.size();
    session.Add(frames[i], RecordInto(results));
    EXPECT_EQ(static_cast<int64_t>(results.size()),
              FinalFrames(layout, static_cast<int64_t>(i) + 1))
        << "after frame " << i;
    check_new(before);
  }
  const size_t before = results.size();
  session.Finish(RecordInto(results));
  EXPECT_EQ(results.size(), frames.size());
  check_new(before);
}

// Whatever step of whatever frame fails, trying the frame again goes on as if nothing had been,
// also between two windows.
TEST_P(OnlineWindows, FailedStepsCanBeRepeated) {
  const Frames frames = MakeFrames(15);
  WindowedSession session(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  Results results;
  for (const auto& frame : frames) {
    for (int fatal = 0;; fatal += 3) {
      int seen = 0;
      session.session_impl().stream().set_observer([&](const char*, int, const TensorView&) {
        if (seen++ == fatal) throw std::runtime_error("observer");
      });
      try {
        session.Add(frame, RecordInto(results));
        break;
      } catch (const std::runtime_error&) {
      }
    }
  }
  session.session_impl().stream().set_observer(nullptr);
  session.Finish(RecordInto(results));
  WindowedSession undisturbed(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  EXPECT_EQ(FirstDifference(results, RunStream(undisturbed, frames)), kIdentical);
}

// A window that cannot begin leaves what the one before it computed, to the last frame.
TEST_P(OnlineWindows, FailureBetweenWindowsKeepsTheWindowBefore) {
  const WindowLayout layout = LayoutOf(GetParam());
  const int64_t given = layout.Begin(1) + layout.window;  // two whole windows
  const Frames frames = MakeFrames(static_cast<int>(given) + 1);
  const Frames whole(frames.begin(), frames.begin() + given);
  WindowedSession undisturbed(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  const Results expected = RunStream(undisturbed, whole);
  WindowedSession session(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  Results results;
  for (const auto& frame : whole) session.Add(frame, RecordInto(results));
  session.session_impl().stream().set_observer(
      [](const char*, int, const TensorView&) { throw std::runtime_error("observer"); });
  // The scale step of the third window; where windows share fewer frames it comes later.
  bool failed = false;
  try {
    session.Add(frames.back(), RecordInto(results));
  } catch (const std::runtime_error&) {
    failed = true;
  }
  EXPECT_EQ(failed, layout.overlap + 1 >= layout.scale_frames);
  if (!failed) return;
  session.session_impl().stream().set_observer(nullptr);
  session.Finish(RecordInto(results));
  if (layout.overlap >= layout.scale_frames) {
    EXPECT_EQ(FirstDifference(results, expected), kIdentical);
  } else {
    // The overlap was given to the third window already, which can place itself without the frame.
    EXPECT_EQ(results.size(), whole.size());
  }
}

// An exception of the callback costs the results of that call and nothing else.
TEST_P(OnlineWindows, ExceptionsOfTheCallbackDoNotReachTheNextWindow) {
  const Frames frames = MakeFrames(15);
  WindowedSession undisturbed(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  const Results expected = RunStream(undisturbed, frames);
  WindowedSession session(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf(GetParam()));
  Results results;
  const ResultCallback record = RecordInto(results);
  int thrown = 0, caught = 0;
  const ResultCallback recording_thrower = [&](const FrameResult& result) {
    record(result);
    ++thrown;
    throw std::runtime_error("callback");
  };
  for (const auto& frame : frames) {
    try {
      session.Add(frame, recording_thrower);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  session.Finish(nullptr);
  EXPECT_EQ(caught, thrown);
  EXPECT_GT(caught, 5);
  for (const Recorded& result : results) {
    EXPECT_TRUE(SameResult(result, expected[result.index])) << result.index;
  }
  ASSERT_EQ(session.transforms().size(), undisturbed.transforms().size());
  EXPECT_EQ(session.transforms().back().scale, undisturbed.transforms().back().scale);
}

INSTANTIATE_TEST_SUITE_P(Extents, OnlineWindows,
                         ::testing::Values(Extent{5, 3}, Extent{6, 1}, Extent{6, 4}, Extent{7, 2}));

TEST(OnlineWindowsTest, NobodyNeedsToListen) {
  WindowedSession session(SmallModel(), kHeight, kWidth, FastOptions(), WindowsOf({5, 3}));
  for (const auto& frame : MakeFrames(8)) session.Add(frame, nullptr);
  session.Finish(nullptr);
  EXPECT_EQ(session.transforms().size(), 3u);
}

// What one window has taken serves all others: a window of a frame that stayed would show.
TEST(OnlineWindowsTest, MemoryIsThatOfOneWindow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory that was freed";
#endif
  constexpr int kSide = 140;  // 235 kB a frame of colours, 157 kB of depth and confidence
  WindowedSession session(SmallModel(), kSide, kSide, FastOptions(), WindowsOf({5, 3}));
  const Frames frames = MakeFrames(5, kSide, kSide);
  int64_t delivered = 0;
  const ResultCallback count = [&](const FrameResult&) { ++delivered; };
  const auto run = [&](int64_t windows) {
    for (size_t i = 0; static_cast<int64_t>(session.transforms().size()) < windows; ++i) {
      session.Add(frames[i % frames.size()], count);
    }
    return ResidentMemory();
  };
  const uint64_t after_three = run(3);
  const uint64_t after_many = run(27);
  EXPECT_GE(delivered, 52);
  EXPECT_LE(after_many, after_three + 1'500'000);
}

}  // namespace
}  // namespace lingbot
