#include "cache/page_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cache/test_support.h"

namespace lingbot {
namespace {

using ::testing::ElementsAre;

PageTableConfig Config(int64_t page_size, int scale, int window, int trajectory,
                       bool strict = false) {
  return {page_size, 6, scale, window, trajectory, strict};
}

void StoreStep(PageTable& table, int frames = 1) {
  table.Begin();
  for (int i = 0; i < frames; ++i) table.AppendFrame();
  table.EvictFrames();
  table.Commit();
}

std::vector<int32_t> Visible(const PageTable& table) {
  std::vector<int32_t> pages;
  table.VisiblePages(&pages);
  return pages;
}

TEST(PageTable, EmptyTable) {
  const PageTable table(Config(24, 3, 4, 64));
  CacheStats expected;
  expected.last_page_len = 24;
  expected.free_pages = 8;
  EXPECT_EQ(table.stats(), expected);
  EXPECT_TRUE(Visible(table).empty());
  EXPECT_EQ(table.patch_pages(), 8);
  // 65 entries of 6 tokens on pages of 24.
  EXPECT_EQ(table.max_pages(), 8 + 17);
}

TEST(PageTable, OrderIsScaleWindowOldestFirstSpecials) {
  PageTable table(Config(4, 2, 3, 64));
  StoreStep(table, 2);
  EXPECT_THAT(Visible(table), ElementsAre(0, 1, 6, 7, 8));
  for (int i = 0; i < 4; ++i) StoreStep(table);
  // Frames 2..5 took pages 2, 3, 4, 5; the first of them left the window.
  EXPECT_THAT(Visible(table), ElementsAre(0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
  EXPECT_THAT(table.evicted_pages(), ElementsAre(2));
  StoreStep(table);
  EXPECT_EQ(Visible(table)[4], 2);  // the page is reused
}

TEST(PageTable, LastPageLength) {
  const auto last_page_len_after = [](int64_t page_size, int frames) {
    PageTable table(Config(page_size, 8, 4, 64));
    StoreStep(table, frames);
    return table.stats().last_page_len;
  };
  EXPECT_EQ(last_page_len_after(1, 1), 1);
  EXPECT_EQ(last_page_len_after(2, 1), 2);
  EXPECT_EQ(last_page_len_after(5, 1), 1);
  EXPECT_EQ(last_page_len_after(6, 3), 6);
  EXPECT_EQ(last_page_len_after(7, 1), 6);
  EXPECT_EQ(last_page_len_after(7, 7), 7);
  EXPECT_EQ(last_page_len_after(972, 8), 48);
}

TEST(PageTable, KeyframeIntervalExample) {
  PageTable table(Config(972, 8, 64, 1024));
  StoreStep(table, 8);
  for (int frame = 8; frame < 320; ++frame) {
    if ((frame - 8) % 7 == 0) {
      StoreStep(table);
    } else {
      table.Begin();
      table.AppendFrame();
      table.RollbackLastFrame();
      table.Discard();
    }
  }
  const CacheStats stats = table.stats();
  EXPECT_EQ(stats.stored_frames, 53);
  EXPECT_EQ(stats.time_index, 53);
  EXPECT_EQ(stats.scale_pages, 8);
  EXPECT_EQ(stats.window_pages, 45);
  EXPECT_EQ(stats.special_tokens, 318);
  EXPECT_EQ(stats.special_pages, 1);
  EXPECT_EQ(stats.last_page_len, 318);
}

TEST(PageTable, ShortScaleStepIsTheWholeScaleSet) {
  PageTable table(Config(4, 8, 2, 64));
  StoreStep(table, 3);
  for (int i = 0; i < 5; ++i) StoreStep(table);
  EXPECT_EQ(table.stats().scale_pages, 3);
  EXPECT_EQ(table.stats().window_pages, 2);
  EXPECT_EQ(table.stats().free_pages, 6);
}

TEST(PageTable, DeferredEvictionShowsOnePageMore) {
  PageTable table(Config(6, 1, 2, 64));
  StoreStep(table);
  StoreStep(table);
  StoreStep(table);
  table.Begin();
  table.AppendFrame();
  EXPECT_EQ(table.stats().window_pages, 3);
  table.EvictFrames();
  EXPECT_EQ(table.stats().window_pages, 2);
  table.Commit();
  table.Begin();
  table.AppendFrame();
  table.Commit();  // still due, so done here
  EXPECT_EQ(table.stats().window_pages, 2);
  EXPECT_EQ(table.evicted_pages().size(), 1u);
}

TEST(PageTable, RollbackUndoesTheEvictionItCaused) {
  PageTable table(Config(6, 1, 2, 64));
  StoreStep(table);
  for (int i = 0; i < 5; ++i) StoreStep(table);
  const std::vector<int32_t> visible = Visible(table);
  const std::vector<int32_t> free(table.free_pages().begin(), table.free_pages().end());
  table.Begin();
  const FrameSlot first = table.AppendFrame();
  table.EvictFrames();
  table.RollbackLastFrame();
  EXPECT_EQ(Visible(table), visible);
  EXPECT_THAT(table.free_pages(), ::testing::ElementsAreArray(free));
  EXPECT_EQ(table.AppendFrame().page, first.page);
  table.Discard();
  EXPECT_EQ(Visible(table), visible);
  EXPECT_THAT(table.free_pages(), ::testing::ElementsAreArray(free));
  EXPECT_EQ(table.stats().stored_frames, 6);
}

TEST(PageTable, RollbackInsideTheScaleStepTakesOneFrame) {
  PageTable table(Config(6, 3, 2, 64));
  table.Begin();
  table.AppendFrame();
  table.AppendFrame();
  table.RollbackLastFrame();
  EXPECT_EQ(table.AppendFrame().first_special, 6);
  table.Commit();
  EXPECT_THAT(Visible(table), ElementsAre(0, 1, 6, 7));
}

TEST(PageTable, ThinsTheSecondFourthOfTheOlderHalf) {
  PageTable table(Config(6, 2, 2, 11));
  StoreStep(table, 2);
  for (int i = 2; i < 11; ++i) StoreStep(table);
  EXPECT_TRUE(table.dropped_entries().empty());
  StoreStep(table);
  // 10 frames after the scale frames (2 to 11); of the older 5, the 2nd and the 4th go.
  EXPECT_THAT(table.retained_frames(), ElementsAre(0, 1, 2, 4, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(table.dropped_entries(), ElementsAre(3, 5));
  EXPECT_EQ(table.stats().special_tokens, 60);
  EXPECT_EQ(table.stats().stored_frames, 12);
  EXPECT_EQ(table.stats().time_index, 12);
  StoreStep(table);
  StoreStep(table);
  // Again 10 later entries: 2 4 6 7 8 | 9 10 11 12 13.
  EXPECT_THAT(table.retained_frames(), ElementsAre(0, 1, 2, 6, 8, 9, 10, 11, 12, 13));
}

TEST(PageTable, TheSmallestBudgetHolds) {
  PageTable table(Config(6, 2, 2, 5));
  StoreStep(table, 2);
  for (int i = 0; i < 100; ++i) {
    StoreStep(table);
    EXPECT_LE(table.stats().retained_frames, 5);
  }
  EXPECT_EQ(table.stats().stored_frames, 102);
}

TEST(PageTable, StrictRefusesBeforeAnythingChanges) {
  PageTable table(Config(6, 2, 2, 4, true));
  StoreStep(table, 2);
  StoreStep(table);
  table.CheckRoom(1);
  StoreStep(table);
  EXPECT_EQ(CodeOf([&] { table.CheckRoom(1); }), ErrorCode::kTrajectoryFull);
  table.Begin();
  table.AppendFrame();
  EXPECT_EQ(CodeOf([&] { table.Commit(); }), ErrorCode::kTrajectoryFull);
  EXPECT_EQ(table.stats().window_pages, 3);  // no eviction has happened
  table.Discard();
  EXPECT_EQ(table.stats().stored_frames, 4);
  EXPECT_EQ(table.stats().retained_frames, 4);
}

TEST(PageTable, ResetEqualsFresh) {
  PageTable used(Config(5, 2, 3, 9));
  StoreStep(used, 2);
  for (int i = 0; i < 20; ++i) StoreStep(used);
  used.Reset();
  PageTable fresh(Config(5, 2, 3, 9));
  for (PageTable* table : {&used, &fresh}) {
    StoreStep(*table, 2);
    for (int i = 0; i < 12; ++i) StoreStep(*table);
  }
  EXPECT_EQ(Visible(used), Visible(fresh));
  EXPECT_EQ(used.stats(), fresh.stats());
  EXPECT_THAT(used.free_pages(), ::testing::ElementsAreArray(fresh.free_pages()));
  EXPECT_THAT(used.retained_frames(), ::testing::ElementsAreArray(fresh.retained_frames()));
}

TEST(PageTable, RejectsMisuse) {
  PageTable table(Config(6, 2, 2, 9));
  EXPECT_EQ(CodeOf([&] { table.AppendFrame(); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { table.EvictFrames(); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { table.RollbackLastFrame(); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { table.Commit(); }), ErrorCode::kInternal);
  table.Begin();
  EXPECT_EQ(CodeOf([&] { table.Begin(); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { table.Commit(); }), ErrorCode::kInternal);
  EXPECT_EQ(CodeOf([&] { table.RollbackLastFrame(); }), ErrorCode::kInternal);
  table.AppendFrame();
  table.AppendFrame();
  EXPECT_EQ(CodeOf([&] { table.AppendFrame(); }), ErrorCode::kInvalidArgument);
  table.Commit();
  table.Begin();
  table.AppendFrame();
  EXPECT_EQ(CodeOf([&] { table.AppendFrame(); }), ErrorCode::kInvalidArgument);
}

TEST(PageTable, RejectsBadConfigurations) {
  constexpr int kMax = std::numeric_limits<int>::max();
  const auto refused = [](PageTableConfig config) {
    return CodeOf([&] { PageTable table(config); }) == ErrorCode::kInvalidArgument;
  };
  for (const int bad : {0, -1, std::numeric_limits<int>::min()}) {
    EXPECT_TRUE(refused(Config(bad, 2, 2, 9)));
    EXPECT_TRUE(refused(Config(6, bad, 2, 9)));
    EXPECT_TRUE(refused(Config(6, 2, bad, 9)));
    EXPECT_TRUE(refused(Config(6, 2, 2, bad)));
    EXPECT_TRUE(refused({6, bad, 2, 2, 9, false}));
  }
  EXPECT_TRUE(refused(Config(std::numeric_limits<int64_t>::max(), 2, 2, 9)));
  EXPECT_TRUE(refused(Config(6, kMax, 2, kMax)));
  EXPECT_TRUE(refused(Config(6, 2, kMax, 9)));
  EXPECT_TRUE(refused(Config(6, 2, 2, kMax)));
  EXPECT_TRUE(refused({1, kMax, 2, 2, 1 << 20, false}));  // too many special pages
  EXPECT_TRUE(refused(Config(6, 2, 2, 4)));               // thinning could not keep it
  EXPECT_TRUE(refused(Config(6, 2, 2, 1, true)));
  PageTable least(Config(6, 2, 2, 2, true));
}

}  // namespace
}  // namespace lingbot
