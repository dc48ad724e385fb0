#include "cli/progress.h"

#include <gtest/gtest.h>

namespace lingbot::cli {
namespace {

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(FormatDuration(0), "0:00");
  EXPECT_EQ(FormatDuration(59.6), "1:00");
  EXPECT_EQ(FormatDuration(245), "4:05");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(-5), "0:00");
}

TEST(Progress, SaysFramesRateRestAndCache) {
  CacheOccupancy cache;
  cache.scale_pages = 8;
  cache.window_pages = 4;
  cache.stored_frames = 12;
  cache.special_tokens = 72;
  EXPECT_EQ(ProgressLine(12, 240, 24, cache),
            "frame 12/240  0.5 frames/s  ETA 7:36  cache 8 + 4 pages, 12 stored frames, 72 "
            "specials");
}

TEST(Progress, HasNoRateBeforeTheFirstFrame) {
  EXPECT_EQ(ProgressLine(0, 3, 0, {}),
            "frame 0/3  - frames/s  ETA -  cache 0 + 0 pages, 0 stored frames, 0 specials");
}

TEST(Console, KeepsTextOnOneLine) {
  EXPECT_EQ(OneLine("a\nb\x1b[2Jc\x7f\n"), "a b?[2Jc?");
  EXPECT_EQ(OneLine("größe.png"), "größe.png");
}

TEST(Progress, LineOfAnUnknownLength) {
  const std::string line = ProgressLine(12, 0, 6.0, {});
  EXPECT_EQ(line.find("frame 12  2 frames/s  cache"), 0u) << line;
}

}  // namespace
}  // namespace lingbot::cli
