#include "geometry/window_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WindowOptions Options(int scale, int window, int interval, int overlap_keyframes,
                      int overlap_size) {
  WindowOptions options;
  options.scale_frames = scale;
  options.window_size = window;
  options.keyframe_interval = interval;
  options.overlap_keyframes = overlap_keyframes;
  options.overlap_size = overlap_size;
  return options;
}

std::vector<int64_t> Begins(const std::vector<WindowSpan>& spans) {
  std::vector<int64_t> begins;
  for (const WindowSpan& span : spans) begins.push_back(span.begin);
  return begins;
}

struct LayoutCase {
  WindowOptions options;
  int64_t window, overlap, step;
};

TEST(WindowLayoutTest, Table) {
  const LayoutCase cases[] = {
      {Options(3, 7, 2, 2, 0), 11, 4, 7},    // overlap by keyframes
      {Options(3, 7, 2, 1, 0), 11, 3, 8},    // at least the scale frames
      {Options(3, 7, 2, 0, 1), 11, 1, 10},   // by frames, even fewer than the scale frames
      {Options(3, 7, 2, 0, 10), 11, 10, 1},  // largest that fits
      {Options(8, 64, 1, 0, 0), 64, 8, 56},  // defaults
      {Options(8, 64, 16, 0, 0), 904, 8, 896},
      {Options(4, 4, 3, 0, 2), 4, 2, 2},  // nothing but scale frames
      {Options(1, 2'000'000'000, 2'000'000'000, 0, 0), 3'999'999'998'000'000'001, 1,
       3'999'999'998'000'000'000},
  };
  for (const LayoutCase& c : cases) {
    const WindowLayout layout = PlanWindows(c.options);
    EXPECT_EQ(layout.window, c.window);
    EXPECT_EQ(layout.overlap, c.overlap);
    EXPECT_EQ(layout.step, c.step);
  }
}

TEST(WindowLayoutTest, ThirtyFramesInFourWindows) {
  const WindowLayout layout = PlanWindows(Options(3, 7, 2, 2, 0));
  const auto spans = SplitIntoWindows(layout, 30);
  EXPECT_THAT(Begins(spans), ElementsAre(0, 7, 14, 21));
  EXPECT_EQ(spans[0].end, 11);
  EXPECT_EQ(spans[0].emit_end, 7);
  EXPECT_EQ(spans[3].end, 30);  // clipped, not shifted
  EXPECT_EQ(spans[3].emit_end, 30);
}

TEST(WindowLayoutTest, EndsExactly) {
  const WindowLayout layout = PlanWindows(Options(3, 7, 2, 2, 0));
  for (const auto& [frames, windows] : {std::pair{1, 1},
                                        {2, 1},
                                        {3, 1},
                                        {4, 1},
                                        {10, 1},
                                        {11, 1},
                                        {12, 2},
                                        {18, 2},
                                        {19, 3},
                                        {25, 3},
                                        {26, 4},
                                        {32, 4},
                                        {33, 5}}) {
    EXPECT_EQ(static_cast<int>(SplitIntoWindows(layout, frames).size()), windows) << frames;
  }
}

TEST(WindowLayoutTest, EveryFrameIsEmittedOnceAndWindowsShareTheOverlap) {
  const auto in = [](int low, int high) { return *rc::gen::inRange(low, high); };
  EXPECT_TRUE(rc::check([&] {
    const int scale = in(1, 9);
    const int interval = in(1, 5);
    const int window_size = scale + in(1, 20);
    const int window = scale + (window_size - scale) * interval;
    const WindowLayout layout =
        PlanWindows(Options(scale, window_size, interval, 0, in(1, window)));
    const int64_t frames = in(1, 300);
    const auto spans = SplitIntoWindows(layout, frames);
    int64_t next = 0;
    for (size_t k = 0; k < spans.size(); ++k) {
      const bool last = k + 1 == spans.size();
      RC_ASSERT(spans[k].begin == next);
      RC_ASSERT(spans[k].begin == layout.Begin(static_cast<int64_t>(k)));
      if (!last) {  // RC_ASSERT overloads ||, which then evaluates both sides
        RC_ASSERT(spans[k].end - spans[k].begin == layout.window);
        RC_ASSERT(spans[k].end - spans[k + 1].begin == layout.overlap);
      }
      if (k > 0) RC_ASSERT(spans[k].end - spans[k].begin > layout.overlap);
      next = spans[k].emit_end;
    }
    RC_ASSERT(next == frames);
  }));
}

void ExpectRefused(const WindowOptions& options, const std::string& text) {
  try {
    PlanWindows(options);
    ADD_FAILURE() << "accepted; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(WindowLayoutTest, RefusesWhatDoesNotFit) {
  ExpectRefused(Options(3, 7, 2, 0, 11), "does not fit");
  ExpectRefused(Options(3, 7, 2, 6, 0), "does not fit");
  ExpectRefused(Options(8, 8, 1, 0, 0), "does not fit");
  ExpectRefused(Options(3, 7, 2, 2, 4), "given twice");
  ExpectRefused(Options(8, 7, 1, 0, 0), "smaller than the 8 scale frames");
  ExpectRefused(Options(0, 7, 1, 0, 0), "at least 1");
  ExpectRefused(Options(3, 7, 0, 0, 0), "at least 1");
  ExpectRefused(Options(3, 7, 1, -1, 0), "negative");
  EXPECT_THROW(SplitIntoWindows(PlanWindows(Options(3, 7, 2, 2, 0)), 0), Error);
}

TEST(OverlapPlanTest, KeyframesOfBothWindows) {
  // Window of 11, step 7: overlap frames 0..3 are frames 7..10 of the window before, of which 7 and
  // 9 are keyframes (3, 5, 7, 9); in their own window 0, 1, 2 (scale) and 3 are.
  const OverlapPlan plan = PlanOverlap(PlanWindows(Options(3, 7, 2, 2, 0)));
  EXPECT_THAT(plan.scale_frames, ElementsAre(0, 2));
  EXPECT_EQ(plan.anchor, 2);
}

TEST(OverlapPlanTest, EveryFrameAKeyframe) {
  const OverlapPlan plan = PlanOverlap(PlanWindows(Options(3, 7, 1, 0, 4)));
  EXPECT_THAT(plan.scale_frames, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(plan.anchor, 3);
}

TEST(OverlapPlanTest, WithoutSharedKeyframesTheFirstFrameServes) {
  // Window 2 + 3 * 5 = 17, overlap 2: frames 15 and 16 of the window before; its keyframes are 0,
  // 1, 2, 7, 12.
  const OverlapPlan plan = PlanOverlap(PlanWindows(Options(2, 5, 5, 0, 2)));
  EXPECT_THAT(plan.scale_frames, ElementsAre(0));
  EXPECT_EQ(plan.anchor, 0);
}

TEST(WindowLayoutTest, AgreesWithTheGoldenRun) {
  const std::filesystem::path path =
      std::filesystem::path(LINGBOT_SOURCE_DIR) / "../shared/golden/tiny_windowed.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no golden file " << path;
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  ASSERT_LT(length, 1u << 20);
  std::string header(length, '\0');
  file.read(header.data(), static_cast<std::streamsize>(length));
  const auto json = nlohmann::json::parse(header);
  const auto config = nlohmann::json::parse(json["__metadata__"]["config"].get<std::string>());
  const WindowLayout layout =
      PlanWindows(Options(config["scale_frames"], config["window_size"],
                          config["keyframe_interval"], config["overlap_keyframes"], 0));
  EXPECT_EQ(SplitIntoWindows(layout, config["frames"]).size(), json["chunk_scales"]["shape"][0]);
}

}  // namespace
}  // namespace lingbot
