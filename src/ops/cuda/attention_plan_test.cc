#include "ops/cuda/attention_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "lingbot/error.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kBlocks = 132;

PagedStep StepOf(int q_tokens, int page_size, int64_t kv_tokens) {
  return {q_tokens, page_size, CeilDiv(kv_tokens, page_size), kv_tokens};
}

std::vector<PagedStep> Steps() {
  std::vector<PagedStep> steps;
  for (const int q : {1, 30, 84, 128, 129, 192, 193, 262, 978, 1005, 7824}) {
    for (const int page : {1, 7, 127, 128, 129, 256, 777, 972, 1369}) {
      for (const int64_t kv : {int64_t{1}, int64_t{24}, int64_t{978}, int64_t{16383},
                               int64_t{16384}, int64_t{98568}}) {
        steps.push_back(StepOf(q, page, kv));
      }
    }
  }
  return steps;
}

struct Fa3Works {
  // (head, q tile, first page, tokens, segment) of every item, and the greatest load of a block
  std::multiset<std::tuple<int, int, int, int, int>> items;
  int64_t longest = 0;  // in tiles of keys
};

Fa3Works Read(const Fa3Layout& at, const std::vector<int32_t>& data, Fa3Tile tile) {
  Fa3Works works;
  for (int block = 0; block < at.blocks; ++block) {
    int64_t load = 0;
    for (int i = data[at.block_begin + block]; i < data[at.block_begin + block + 1]; ++i) {
      works.items.emplace(data[at.head + i], data[at.q_tile + i], data[at.page_begin + i],
                          data[at.kv_len + i], data[at.segment + i]);
      load += CeilDiv(data[at.kv_len + i], tile.kv);
    }
    works.longest = std::max(works.longest, load);
  }
  return works;
}

TEST(AttentionPlan, SegmentsCoverEveryTokenOnce) {
  for (const PagedStep& step : Steps()) {
    for (int count = 1; count <= std::min(step.pages, 16); ++count) {
      int page = 0;
      int64_t tokens = 0;
      for (const KvSegment& segment : CutPages(step, count)) {
        ASSERT_EQ(segment.first_page, page);
        ASSERT_GT(segment.tokens, 0);
        tokens += segment.tokens;
        page += CeilDiv(segment.tokens, step.page_size);
      }
      ASSERT_EQ(tokens, step.kv_tokens);
      ASSERT_EQ(page, step.pages);
    }
  }
}

TEST(AttentionPlan, Fa3ListsEveryHeadTileAndSegmentOnce) {
  for (const int head_dim : {64, 128}) {
    const Fa3Tile tile = Fa3TileFor(head_dim);
    for (const int heads : {2, 16}) {
      const Fa3Layout layout = MakeFa3Layout(kBlocks, Fa3Capacity(7824, heads, tile, kBlocks), 0);
      std::vector<int32_t> data(layout.size, -1);
      for (const PagedStep& step : Steps()) {
        const int segments = Fa3ChooseSegments(step, heads, tile, kBlocks);
        ASSERT_LE(segments, Fa3MaxSegments(step.q_tokens, heads, tile, kBlocks));
        FillFa3Paged(layout, step, heads, tile, segments, data);
        const Fa3Works works = Read(layout, data, tile);
        std::multiset<std::tuple<int, int, int, int, int>> expected;
        int index = 0;
        for (const KvSegment& segment : CutPages(step, segments)) {
          for (int head = 0; head < heads; ++head) {
            for (int q_tile = 0; q_tile < CeilDiv(step.q_tokens, tile.q); ++q_tile) {
              expected.emplace(head, q_tile, segment.first_page, segment.tokens, index);
            }
          }
          ++index;
        }
        ASSERT_EQ(works.items, expected) << step.q_tokens << " " << step.kv_tokens;
        ASSERT_EQ(data[layout.segments], segments);
      }
    }
  }
}

TEST(AttentionPlan, PartsFitTheirMemory) {
  // The parts' memory is planned as capacity * tile.q rows for the largest number of query rows.
  for (const int heads : {2, 16}) {
    for (const int head_dim : {64, 128}) {
      const Fa3Tile tile = Fa3TileFor(head_dim);
      const int64_t rows = static_cast<int64_t>(Fa3Capacity(7824, heads, tile, kBlocks)) * tile.q;
      for (int q = 1; q <= 7824; ++q) {
        ASSERT_LE(static_cast<int64_t>(Fa3MaxSegments(q, heads, tile, kBlocks)) * q * heads, rows);
        ASSERT_LE(Fa3MaxSegments(q, heads, tile, kBlocks) * heads * CeilDiv(q, tile.q),
                  Fa3Capacity(7824, heads, tile, kBlocks));
      }
    }
  }
}

TEST(AttentionPlan, Fa3FillsTheDevice) {
  // The released model with a full window: at least 90 % of the multiprocessors' time is used.
  const Fa3Tile tile = Fa3TileFor(64);
  const PagedStep step = StepOf(978, 972, 72384);
  const int segments = Fa3ChooseSegments(step, 16, tile, kBlocks);
  const Fa3Layout layout = MakeFa3Layout(kBlocks, Fa3Capacity(978, 16, tile, kBlocks), 0);
  std::vector<int32_t> data(layout.size);
  FillFa3Paged(layout, step, 16, tile, segments, data);
  const int64_t total =
      static_cast<int64_t>(16) * CeilDiv(978, tile.q) * CeilDiv(step.kv_tokens, tile.kv);
  EXPECT_GE(total, Read(layout, data, tile).longest * kBlocks * 9 / 10);
}

TEST(AttentionPlan, Fa3FramesStartWhereTheyLie) {
  const Fa3Tile tile = Fa3TileFor(64);
  const FrameShape shape{8, 978, 16, 64};
  const Fa3Layout layout = MakeFa3Layout(kBlocks, 8 * 16 * CeilDiv(978, tile.q), shape.frames);
  std::vector<int32_t> data(layout.size);
  FillFa3Frames(layout, shape, tile, data);
  EXPECT_EQ(data[layout.block_begin + kBlocks], layout.capacity);
  for (int i = 0; i < layout.capacity; ++i) {
    const int frame = data[layout.page_begin + i];
    ASSERT_EQ(data[layout.q_begin + i], frame * 978);
    ASSERT_EQ(data[layout.pages + frame], frame * 978);
    ASSERT_EQ(data[layout.q_len + i], 978);
    ASSERT_EQ(data[layout.kv_len + i], 978);
  }
}

TEST(AttentionPlan, Fa2ChunksCoverTheKeysOfEveryTile) {
  for (const int heads : {2, 16}) {
    const Fa2Layout layout = MakeFa2Layout(Fa2Capacity(7824, heads, kBlocks), 1, 7824);
    std::vector<int32_t> data(layout.size, -1);
    for (const PagedStep& step : Steps()) {
      FillFa2Paged(layout, step, heads, kBlocks, data);
      const auto* valid = reinterpret_cast<const uint8_t*>(&data[layout.valid]);
      const int chunks = CeilDiv(step.kv_tokens, data[layout.chunk_tokens]);
      std::set<std::pair<int, int>> pairs;
      for (int i = 0; i < layout.capacity; ++i) {
        if (valid[i] != 0) {
          ASSERT_LT(data[layout.kv_tile + i], chunks);
          ASSERT_TRUE(pairs.emplace(data[layout.q_tile + i], data[layout.kv_tile + i]).second);
        }
      }
      ASSERT_EQ(static_cast<int>(pairs.size()), CeilDiv(step.q_tokens, kFa2TileQ) * chunks);
      ASSERT_EQ(data[layout.merge_indptr + step.q_tokens], step.q_tokens * chunks);
      ASSERT_LE(step.q_tokens * chunks, Fa2PartRows(7824, heads, kBlocks));
      ASSERT_EQ((data[layout.kv_indptr + 1] - 1) * step.page_size + data[layout.last_page],
                step.kv_tokens);
    }
  }
}

TEST(AttentionPlan, ListsOverlapNowhere) {
  const Fa2Layout fa2 = MakeFa2Layout(13, 3, 21);
  const std::map<int, int> fa2_arrays = {
      {fa2.request, 13},   {fa2.q_tile, 13},       {fa2.kv_tile, 13},  {fa2.o_indptr, 4},
      {fa2.q_indptr, 4},   {fa2.kv_indptr, 4},     {fa2.last_page, 3}, {fa2.chunk_tokens, 1},
      {fa2.total_rows, 1}, {fa2.merge_indptr, 22}, {fa2.valid, 4},     {fa2.pages, 3}};
  const Fa3Layout fa3 = MakeFa3Layout(5, 13, 3);
  const std::map<int, int> fa3_arrays = {
      {fa3.segments, 1}, {fa3.block_begin, 6}, {fa3.head, 13},  {fa3.q_tile, 13},
      {fa3.q_begin, 13}, {fa3.page_begin, 13}, {fa3.q_len, 13}, {fa3.kv_len, 13},
      {fa3.segment, 13}, {fa3.pages, 3}};
  for (const auto& [arrays, size] : {std::pair{fa2_arrays, fa2.size}, {fa3_arrays, fa3.size}}) {
    int end = 0;
    for (const auto& [begin, length] : arrays) {
      EXPECT_GE(begin, end);
      EXPECT_EQ(begin % 4, 0);
      end = begin + length;
    }
    EXPECT_LE(end, size);
  }
  EXPECT_EQ(fa2_arrays.size(), 12u);
  EXPECT_EQ(fa3_arrays.size(), 10u);
}

TEST(AttentionPlan, RejectsStepsThatDoNotFit) {
  const PagedLimits limits{978, 16, 64};
  EXPECT_NO_THROW(CheckStep(StepOf(978, 972, 72384), limits));
  EXPECT_THROW(CheckStep(StepOf(979, 972, 72384), limits), Error);
  EXPECT_THROW(CheckStep(StepOf(0, 972, 72384), limits), Error);
  EXPECT_THROW(CheckStep({978, 972, 0, 0}, limits), Error);
  EXPECT_THROW(CheckStep({978, 972, 2, 972}, limits), Error);
  EXPECT_THROW(CheckStep({978, 972, 2, 1945}, limits), Error);
  EXPECT_THROW(CheckStep({978, 0, 1, 0}, limits), Error);
  EXPECT_THROW(CheckFrames({0, 978, 16, 64}), Error);
  EXPECT_THROW(CheckFrames({1 << 20, 1 << 20, 16, 64}), Error);
  const Fa3Layout small = MakeFa3Layout(kBlocks, 16, 0);
  std::vector<int32_t> data(small.size);
  EXPECT_THROW(FillFa3Paged(small, StepOf(978, 972, 72384), 16, Fa3TileFor(64), 4, data), Error);
}

TEST(AttentionPlan, SignaturesTellStepsApart) {
  EXPECT_EQ(Signature({3, 978, 972, 1}), Signature({3, 978, 972, 1}));
  EXPECT_NE(Signature({3, 978, 972, 1}), Signature({3, 978, 972, 0}));
  EXPECT_NE(Signature({3, 978, 972, 1}), Signature({3, 972, 978, 1}));
}

}  // namespace
}  // namespace lingbot::ops::cuda
