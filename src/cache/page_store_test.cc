#include "cache/page_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lingbot/error.h"
#include "tensor/buffer.h"

namespace lingbot {
namespace {

PageStoreConfig Config(DType dtype, KvLayout layout, bool poison) {
  return {2, 3, 4, 2, 5, dtype, layout, poison, 3};
}

// [rows, heads, head_dim] with K and V interleaved per head, so that both outer strides are
// unusual.
struct Input {
  explicit Input(int64_t rows) : buffer(DType::kF32, {rows, 2, 2, 5}) {
    for (int64_t i = 0; i < rows * 20; ++i) {
      buffer.data<float>()[i] = 1.0f + static_cast<float>(i) / 1024.0f;
    }
  }
  TensorView Of(int kv) const {
    return TensorView(buffer.data<float>() + kv * 5, DType::kF32, {buffer.shape()[0], 2, 5},
                      Shape{20, 10, 1});
  }
  Buffer buffer;
};

// As the cache does it: offsets from runs, then the rows.
void Write(PageStore& store, int threads, int block, const TensorView& k, const TensorView& v,
           const std::vector<TokenRun>& runs) {
  std::vector<int64_t> offsets(k.dim(0));
  store.FillOffsets(runs, offsets);
  ops::StoreKv(ThreadTeam(threads), k, v, store.Destination(block, offsets.data(), k.dim(0)));
}

// In a store without special pages.
float Stored(const ops::PagedKvView& view, int kv, int64_t page, int64_t token, int64_t head,
             int64_t channel) {
  const void* base = kv == 0 ? view.k : view.v;
  const bool planes = view.page_stride == view.token_stride;
  const int64_t index = page * view.page_stride * (planes ? view.page_size : 1) +
                        token * view.token_stride + head * view.head_stride + channel;
  return view.dtype == DType::kF32 ? static_cast<const float*>(base)[index]
                                   : ToFloat(static_cast<const BFloat16*>(base)[index]);
}

TEST(PageStore, WritesRunsThroughStridesInEveryLayout) {
  const std::vector<TokenRun> runs{{0, {2, 3}, 1}, {1, {0, 0}, 2}, {3, {1, 1}, 3}};
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const KvLayout layout : {KvLayout::kPlanes, KvLayout::kInterleaved}) {
      for (const int threads : {1, 3}) {
        PageStore store(Config(dtype, layout, true));
        const Input input(6);
        Write(store, threads, 1, input.Of(0), input.Of(1), runs);
        const ops::PagedKvView view = store.View(1);
        for (int kv = 0; kv < 2; ++kv) {
          for (const TokenRun& run : runs) {
            for (int64_t i = 0; i < run.count * 10; ++i) {
              const int64_t token = i / 10, head = i / 5 % 2, channel = i % 5;
              const float value = input.Of(kv)[run.row + token][head].data<float>()[channel];
              EXPECT_EQ(Stored(view, kv, run.place.page, run.place.token + token, head, channel),
                        dtype == DType::kF32 ? value : ToFloat(ToBFloat16(value)));
            }
          }
        }
        // 6 tokens of K and V are there, in this block only.
        int64_t written = 0;
        for (int block = 0; block < 2; ++block) {
          const ops::PagedKvView all = store.View(block);
          for (int64_t i = 0; i < 2 * 3 * 4 * 10; ++i) {
            const float value =
                Stored(all, static_cast<int>(i % 2), i / 80, i / 20 % 4, i / 10 % 2, i / 2 % 5);
            written += block == 1 && !std::isnan(value);
            EXPECT_TRUE(block == 1 || std::isnan(value));
          }
        }
        EXPECT_EQ(written, 6 * 2 * 10);
      }
    }
  }
}

TEST(PageStore, LayoutsAreAsDocumented) {
  const PageStore planes(Config(DType::kF32, KvLayout::kPlanes, false));
  const PageStore interleaved(Config(DType::kF32, KvLayout::kInterleaved, false));
  const auto distance = [](const ops::PagedKvView& view) {
    return static_cast<const float*>(view.v) - static_cast<const float*>(view.k);
  };
  EXPECT_EQ(distance(planes.View(0)), 3 * 4 * 10);
  EXPECT_EQ(planes.View(0).page_stride, 10);
  EXPECT_EQ(planes.ViewPage(2), 2 * 4);
  EXPECT_EQ(interleaved.ViewPage(2), 2);
  EXPECT_EQ(distance(interleaved.View(0)), 4 * 10);
  EXPECT_EQ(interleaved.View(0).page_stride, 2 * 4 * 10);
  for (const PageStore* store : {&planes, &interleaved}) {
    EXPECT_EQ(store->View(0).token_stride, 10);
    EXPECT_EQ(store->View(0).head_stride, 5);
    EXPECT_EQ(
        static_cast<const float*>(store->View(1).k) - static_cast<const float*>(store->View(0).k),
        2 * 3 * 4 * 10);
  }
}

TEST(PageStore, RoundsToNearestEven) {
  PageStore store({1, 1, 1, 1, 6, DType::kBF16, KvLayout::kPlanes, false, 1});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // bfloat16 keeps 8 bits: the step at 1 is 2^-7.
  Buffer input(DType::kF32, {1, 1, 6});
  const float values[] = {1.0f + 0x1p-8f,  1.0f + 0x3p-8f, 1.0f + 0x1p-8f + 0x1p-20f,
                          -1.0f - 0x1p-8f, kInfinity,      std::nanf("")};
  const float expected[] = {1.0f, 1.0f + 0x1p-6f, 1.0f + 0x1p-7f, -1.0f, kInfinity};
  std::copy(std::begin(values), std::end(values), input.data<float>());
  Write(store, 1, 0, input.view(), input.view(), std::vector<TokenRun>{{0, {}, 1}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Stored(store.View(0), 1, 0, 0, 0, i), expected[i]);
  EXPECT_TRUE(std::isnan(Stored(store.View(0), 0, 0, 0, 0, 5)));
}

TEST(PageStore, MovesTokensInEveryBlock) {
  PageStore store(Config(DType::kBF16, KvLayout::kInterleaved, true));
  const Input input(1);
  for (int block = 0; block < 2; ++block) {
    Write(store, 1, block, input.Of(0), input.Of(1), std::vector<TokenRun>{{0, {2, 3}, 1}});
  }
  store.MoveTokens(std::vector<TokenPlace>{{2, 3}}, std::vector<TokenPlace>{{0, 1}});
  for (int kv = 0; kv < 2; ++kv) {
    for (int block = 0; block < 2; ++block) {
      EXPECT_EQ(Stored(store.View(block), kv, 0, 1, 1, 4),
                Stored(store.View(block), kv, 2, 3, 1, 4));
      EXPECT_FALSE(std::isnan(Stored(store.View(block), kv, 0, 1, 1, 4)));
    }
  }
}

// Two patch pages of 4 tokens and one special page: special tokens come down from the first patch
// page, so that tokens 0 .. n-1 and page 0 are one range of rows, and a view names pages by rows.
TEST(PageStore, SpecialTokensOfPlanesTouchTheFirstPatchPage) {
  PageStoreConfig config = Config(DType::kF32, KvLayout::kPlanes, true);
  config.patch_pages = 2;
  PageStore store(config);
  std::vector<int64_t> offsets(6);
  store.FillOffsets(std::vector<TokenRun>{{0, {2, 0}, 2}, {2, {0, 0}, 4}}, offsets);
  EXPECT_EQ(store.special_rows(), 4);
  EXPECT_EQ(offsets, (std::vector<int64_t>{30, 20, 40, 50, 60, 70}));
  EXPECT_EQ(store.ViewPage(1), 8);
  EXPECT_EQ(store.ViewSpecialPage(0, 2), 2);
  const Input input(6);
  Write(store, 1, 0, input.Of(0), input.Of(1), {{0, {2, 0}, 2}, {2, {0, 0}, 4}});
  store.Poison({2, 1}, 1);
  const float* rows = static_cast<const float*>(store.View(0).k);
  EXPECT_TRUE(std::isnan(rows[2 * 10]));
  EXPECT_FALSE(std::isnan(rows[3 * 10]));
}

TEST(PageStore, PoisonsOnlyWhenAsked) {
  for (const bool poison : {false, true}) {
    PageStore store(Config(DType::kF32, KvLayout::kPlanes, poison));
    const Input input(4);
    Write(store, 1, 0, input.Of(0), input.Of(1), std::vector<TokenRun>{{0, {1, 0}, 4}});
    store.Poison({1, 1}, 2);
    EXPECT_FALSE(std::isnan(Stored(store.View(0), 0, 1, 0, 0, 0)));
    EXPECT_EQ(std::isnan(Stored(store.View(0), 1, 1, 1, 0, 0)), poison);
    EXPECT_EQ(std::isnan(Stored(store.View(0), 0, 1, 2, 1, 4)), poison);
    EXPECT_FALSE(std::isnan(Stored(store.View(0), 1, 1, 3, 0, 0)));
  }
}

TEST(PageStore, RefusesRunsThatLeaveThePage) {
  PageStore store(Config(DType::kF32, KvLayout::kPlanes, false));
  const Input input(2);
  const std::vector<std::vector<TokenRun>> bad{
      {},
      {{0, {0, 0}, 1}},
      {{0, {0, 0}, 3}},
      {{0, {0, 3}, 2}},
      {{0, {3, 0}, 2}},
      {{0, {-1, 0}, 2}},
      {{0, {0, -1}, 2}},
      {{1, {0, 0}, 2}},
      {{0, {0, 0}, 1}, {0, {0, 1}, 1}},
      {{0, {0, 0}, 0}, {0, {0, 1}, 2}},
      {{0, {0, 1}, std::numeric_limits<int64_t>::max()}},
  };
  for (const auto& runs : bad) {
    EXPECT_THROW(Write(store, 1, 0, input.Of(0), input.Of(1), runs), Error);
  }
  EXPECT_THROW(store.View(2), Error);
}

TEST(PageStore, PlanesBeginWithAGranuleAndKeepTheirRows) {
  PageStoreConfig config{2, 5, 4, 2, 8, DType::kF32, KvLayout::kPlanes, false, 3};
  const size_t token_bytes = 2 * 8 * sizeof(float);
  config.granule = 16 * token_bytes;
  for (const int64_t expected : {0, 1, 6, 8, 100}) {
    config.expected_specials = expected;
    PageStore store(config);
    const int64_t specials = std::min<int64_t>(expected, 8);  // there are two pages of four
    EXPECT_EQ((store.special_rows() - specials) % 16, 0) << expected;
    EXPECT_GE(store.special_rows(), 8);
    EXPECT_EQ(store.block_stride() * sizeof(float) % config.granule, 0u);
    EXPECT_EQ(store.bytes().size(), 2 * store.block_stride() * sizeof(float));
    // The last special token, the first and the last patch token of the last block.
    const Buffer rows(DType::kF32, {3, 2, 8});
    for (int64_t i = 0; i < 48; ++i) rows.data<float>()[i] = static_cast<float>(i);
    const std::vector<TokenRun> runs{{0, {4, 3}, 1}, {1, {0, 0}, 1}, {2, {2, 3}, 1}};
    Write(store, 1, 1, rows.view(), rows.view(), runs);
    const ops::PagedKvView view = store.View(1);
    const auto first = [&](const void* base, int64_t row) {
      return static_cast<const float*>(base)[row * view.token_stride];
    };
    for (const void* base : {view.k, view.v}) {
      EXPECT_EQ(first(base, store.ViewSpecialPage(0, 8)), 0.0f);
      EXPECT_EQ(first(base, store.ViewPage(0)), 16.0f);
      EXPECT_EQ(first(base, store.ViewPage(2) + 3), 32.0f);
    }
  }
}

}  // namespace
}  // namespace lingbot
