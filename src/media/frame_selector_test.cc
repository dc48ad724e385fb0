#include "media/frame_selector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using Verdict = FrameSelector::Verdict;

struct Chosen {
  std::vector<int> frames;
  double rate = 0;
};

// `count` frames at `rate`, times rounded to `tick`.
Chosen Choose(const Sampling& sampling, double rate, int count, double tick) {
  FrameSelector selector(sampling, tick);
  Chosen chosen;
  for (int i = 0; i < count; ++i) {
    const Verdict verdict = selector.Look(std::round(i / rate / tick) * tick);
    if (verdict == Verdict::kDone) break;
    if (verdict == Verdict::kTake) chosen.frames.push_back(i);
  }
  chosen.rate = selector.AchievedRate();
  return chosen;
}

Sampling AtRate(double rate) {
  Sampling sampling;
  sampling.frames_per_second = rate;
  return sampling;
}

// Ten seconds asked for at 10 frames/s, from the frame rates that cameras have.
TEST(FrameSelector, AchievesTheRate) {
  for (const double rate : {15.0, 24.0, 25.0, 30000.0 / 1001, 30.0, 50.0, 60.0, 120.0}) {
    for (const double tick : {1e-3, 1.0 / 90000, 1.0 / 12800}) {
      SCOPED_TRACE(testing::Message() << rate << " frames/s, tick " << tick);
      const Chosen chosen = Choose(AtRate(10), rate, static_cast<int>(10 * rate), tick);
      EXPECT_NEAR(chosen.rate, 10, 0.1);
      EXPECT_EQ(chosen.frames.size(), 100u);
    }
  }
}

// Times rounded down to milliseconds (0.333 s for a third) still fill their slot.
TEST(FrameSelector, ForgivesRoundedTimes) {
  const Chosen chosen = Choose(AtRate(6), 24, 25, 1e-3);
  EXPECT_EQ(chosen.frames, (std::vector<int>{0, 4, 8, 12, 16, 20, 24}));
  EXPECT_EQ(Choose(AtRate(10), 30, 10, 1e-3).frames, (std::vector<int>{0, 3, 6, 9}));
}

TEST(FrameSelector, RepeatsNothing) {
  const Chosen chosen = Choose(AtRate(60), 24, 24, 1e-3);
  EXPECT_EQ(chosen.frames.size(), 24u);
  EXPECT_NEAR(chosen.rate, 24, 0.05);
}

// A second at 30 frames/s, a pause of a second, a second at 10: one frame to each half second.
TEST(FrameSelector, SamplesAVariableRateByTime) {
  FrameSelector selector(AtRate(2), 1e-3);
  std::vector<double> taken;
  const auto look = [&](double t) {
    if (selector.Look(t) == Verdict::kTake) taken.push_back(t);
  };
  for (int i = 0; i < 30; ++i) look(i / 30.0);
  for (int i = 0; i < 10; ++i) look(2 + i / 10.0);
  EXPECT_EQ(taken, (std::vector<double>{0, 0.5, 2, 2.5}));
}

TEST(FrameSelector, KeepsToTheRange) {
  Sampling sampling;
  sampling.start = 0.5;
  sampling.end = 1;
  EXPECT_EQ(Choose(sampling, 10, 30, 1e-3).frames, (std::vector<int>{5, 6, 7, 8, 9}));
  sampling.stride = 2;
  EXPECT_EQ(Choose(sampling, 10, 30, 1e-3).frames, (std::vector<int>{5, 7, 9}));
  sampling.max_frames = 2;
  EXPECT_EQ(Choose(sampling, 10, 30, 1e-3).frames, (std::vector<int>{5, 7}));
  sampling.frames_per_second = 5;
  sampling.stride = 1;
  EXPECT_EQ(Choose(sampling, 10, 30, 1e-3).frames, (std::vector<int>{5, 7}));
}

TEST(FrameSelector, RefusesNonsense) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Sampling& sampling :
       {Sampling{-1}, Sampling{nan}, Sampling{infinity}, Sampling{2, 2}, Sampling{2, 1},
        Sampling{0, nan}, AtRate(-1), AtRate(nan), AtRate(infinity), Sampling{0, 9, 0, 0},
        Sampling{0, 9, 0, 1, -1}}) {
    EXPECT_THROW(FrameSelector(sampling, 1e-3), Error);
  }
}

}  // namespace
}  // namespace lingbot
