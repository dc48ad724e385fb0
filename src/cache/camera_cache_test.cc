#include "cache/camera_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lingbot/error.h"
#include "tensor/buffer.h"

namespace lingbot {
namespace {

constexpr int kPasses = 3;
constexpr int kBlocks = 2;

// [frames, heads 2, head_dim 2], constant per entry.
Buffer Entries(int64_t frames, float first) {
  Buffer buffer(DType::kF32, {frames, 2, 2});
  for (int64_t i = 0; i < frames * 4; ++i)
    buffer.data<float>()[i] = first + static_cast<float>(i / 4);
  return buffer;
}

// Entry i of pass p, block b holds 100 p + 10 b + i in K and its negative - 1000 in V.
CameraCache Filled(int64_t entries, bool poison) {
  CameraCache cache({kPasses, kBlocks, 2, 2}, 8, poison);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int block = 0; block < kBlocks; ++block) {
      const float name = static_cast<float>(100 * pass + 10 * block);
      cache.Write(pass, block, 0, Entries(entries, name).view(),
                  Entries(entries, -name - 1000).view());
    }
  }
  return cache;
}

TEST(CameraCache, PassesAndBlocksAreSeparate) {
  const CameraCache cache = Filled(4, false);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int block = 0; block < kBlocks; ++block) {
      const ops::EntryKv kv = cache.View(pass, block, 4);
      EXPECT_EQ(kv.k.shape(), (Shape{4, 2, 2}));
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(kv.k[i][1].data<float>()[1], static_cast<float>(100 * pass + 10 * block + i));
        EXPECT_EQ(kv.v[i][0].data<float>()[0],
                  static_cast<float>(-100 * pass - 10 * block - 1000 + i));
      }
    }
  }
}

TEST(CameraCache, AppendsStridedRows) {
  CameraCache cache = Filled(2, true);
  const Buffer wide(DType::kF32, {1, 2, 3, 2});  // [frames, heads, q k v, head_dim]
  for (int i = 0; i < 12; ++i) wide.data<float>()[i] = static_cast<float>(i);
  const TensorView k(wide.data<float>() + 2, DType::kF32, {1, 2, 2}, Shape{12, 6, 1});
  const TensorView v(wide.data<float>() + 4, DType::kF32, {1, 2, 2}, Shape{12, 6, 1});
  cache.Write(1, 1, 2, k, v);
  const ops::EntryKv kv = cache.View(1, 1, 3);
  EXPECT_EQ(kv.k[1][0].data<float>()[0], 111.0f);
  EXPECT_EQ(kv.k[2][0].data<float>()[1], 3.0f);
  EXPECT_EQ(kv.k[2][1].data<float>()[0], 8.0f);
  EXPECT_EQ(kv.v[2][1].data<float>()[1], 11.0f);
  EXPECT_TRUE(std::isnan(cache.View(1, 0, 3).k[2][0].data<float>()[0]));
}

TEST(CameraCache, CompactsEveryCache) {
  CameraCache cache = Filled(7, true);
  cache.Compact(std::vector<int64_t>{2, 4, 5}, 7);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int block = 0; block < kBlocks; ++block) {
      const ops::EntryKv kv = cache.View(pass, block, 8);
      const float name = static_cast<float>(100 * pass + 10 * block);
      const std::vector<float> left{0, 1, 3, 6};
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(kv.k[i][0].data<float>()[0], name + left[i]);
        EXPECT_EQ(kv.v[i][1].data<float>()[1], -name - 1000 + left[i]);
      }
      for (int i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(kv.v[i][1].data<float>()[1]));
    }
  }
}

TEST(CameraCache, RefusesWhatDoesNotFit) {
  CameraCache cache = Filled(4, false);
  const Buffer one = Entries(1, 0);
  const Buffer five = Entries(5, 0);
  EXPECT_THROW(cache.Write(3, 0, 4, one.view(), one.view()), Error);
  EXPECT_THROW(cache.Write(0, 2, 4, one.view(), one.view()), Error);
  EXPECT_THROW(cache.Write(0, 0, 4, five.view(), five.view()), Error);
  EXPECT_THROW(cache.Write(0, 0, 4, five.view().Slice(0, 0, 2), one.view()), Error);
  EXPECT_THROW(cache.Write(0, 0, -1, one.view(), one.view()), Error);
  EXPECT_THROW(cache.View(0, 0, 9), Error);
  EXPECT_THROW(cache.View(-1, 0, 1), Error);
  EXPECT_THROW(CameraCache({4, 4, 0, 2}, 8, false), Error);
  EXPECT_THROW(CameraCache({4, 4, 2, 2}, 0, false), Error);
}

TEST(CameraCache, BytesOfOneFrame) {
  // Released model: 4 passes x 4 blocks, 16 heads of 128.
  EXPECT_EQ(CameraCache::EntryBytes({4, 4, 16, 128}), 262144u);
  EXPECT_EQ(CameraCache::EntryBytes({1, 4, 16, 128}), 262144u / 4);
  EXPECT_EQ(CameraCache::EntryBytes({}), 0u);
}

}  // namespace
}  // namespace lingbot
