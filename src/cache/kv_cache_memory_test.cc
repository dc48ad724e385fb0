#include <gtest/gtest.h>

#include "base/system_memory.h"
#include "cache/cache_oracle.h"
#include "cache/kv_cache.h"

namespace lingbot {
namespace {

// The released model at 504x378: 24 blocks, 16 heads of 64, P = 36 * 27.
KvCacheConfig ReleasedConfig() {
  KvCacheConfig config;
  config.blocks = 24;
  config.page_size = 972;
  config.heads = 16;
  config.head_dim = 64;
  config.dtype = DType::kBF16;
  config.camera = {4, 4, 16, 128};
  return config;
}

TEST(KvCacheMemory, PlanOfTheReleasedModel) {
  const KvCacheConfig config = ReleasedConfig();
  EXPECT_EQ(KvCache::PatchPageBytes(config), 2u * 972 * 1024 * 2);  // 4.0 MB
  EXPECT_EQ(FormatBytes(KvCache::PatchPageBytes(config)), "3.98 MB");
  EXPECT_EQ(FormatBytes(24 * KvCache::PatchPageBytes(config)), "95.6 MB");
  EXPECT_EQ(KvCache::SpecialBytesPerFrame(config), 589824u);  // 0.59 MB
  EXPECT_EQ(KvCache::CameraBytesPerFrame(config), 262144u);   // 0.26 MB
  const CacheBytes unbounded = KvCache::PlanBytes(config, 0);
  EXPECT_EQ(unbounded.patch_pages, 73u * 24 * KvCache::PatchPageBytes(config));
  EXPECT_EQ(FormatBytes(unbounded.patch_pages), "6.98 GB");
  EXPECT_EQ(unbounded.specials, 1025u * 589824);
  EXPECT_EQ(unbounded.camera, 1025u * 262144);
  EXPECT_EQ(KvCache::PlanBytes(config, 1000000).total(), unbounded.total());
}

TEST(KvCacheMemory, PlanOfAShortClip) {
  const CacheBytes plan = KvCache::PlanBytes(ReleasedConfig(), 10);
  EXPECT_EQ(plan.patch_pages, 10u * 24 * 2 * 972 * 1024 * 2);
  EXPECT_EQ(plan.specials, 10u * 589824);
  EXPECT_EQ(plan.camera, 10u * 262144);
  EXPECT_LT(plan.total(), 1000u * 1000 * 1000);
}

TEST(KvCacheMemory, OneCameraPassNeedsAQuarterOfFour) {
  KvCacheConfig config = ReleasedConfig();
  const uint64_t four = KvCache::PlanBytes(config, 0).camera;
  config.camera.passes = 1;
  EXPECT_EQ(KvCache::PlanBytes(config, 0).camera * 4, four);
}

TEST(KvCacheMemory, PlanOfAPoisonedCacheIsAllOfIt) {
  KvCacheConfig config = testing::SmallConfig();
  const KvCache cache(config);
  const CacheBytes plan = KvCache::PlanBytes(config, 1);
  EXPECT_EQ(plan.total(), cache.store().bytes().size() + cache.camera().bytes().size());
}

TEST(KvCacheMemory, AShortClipTouchesItsOwnPagesOnly) {
  KvCacheConfig config = ReleasedConfig();
  config.blocks = 2;
  config.camera.passes = 1;
  // Inputs once, so that only the cache grows while frames are stored.
  const ThreadTeam team(2);
  const testing::StepInput frame = testing::BlockInput(config, {1}, 0);
  const testing::StepInput camera = testing::CameraInput(config, {1}, 0);
  const uint64_t before = ResidentMemory();
  KvCache cache(config);
  for (int i = 0; i < 10; ++i) {
    FrameTransaction step(cache, 1, StepKind::kStored);
    for (int block = 0; block < config.blocks; ++block) cache.Append(team, block, frame.k, frame.v);
    for (int block = 0; block < config.camera.blocks; ++block) {
      cache.AppendCamera(0, block, camera.k, camera.v);
    }
    step.Commit();
  }
  const uint64_t grown = ResidentMemory() - before;
  const uint64_t planned = KvCache::PlanBytes(config, 10).total();
  EXPECT_GE(grown, planned * 9 / 10);
  EXPECT_LE(grown, planned + 24'000'000);  // whole huge pages at the ends of each range
  EXPECT_LT(grown, KvCache::PlanBytes(config, 0).total() / 4);
}

TEST(KvCacheMemory, TwentyThousandFramesStayFlat) {
  KvCacheConfig config = testing::SmallConfig();
  config.poison = false;
  config.page_size = 24;
  config.heads = 4;
  config.head_dim = 32;
  config.scale_frames = 8;
  config.sliding_window = 16;
  config.trajectory_frames = 64;
  const ThreadTeam team(1);
  const testing::StepInput frame = testing::BlockInput(config, {1}, 0);
  const testing::StepInput camera = testing::CameraInput(config, {1}, 0);
  KvCache cache(config);
  uint64_t resident = 0;
  for (int i = 0; i < 20000; ++i) {
    FrameTransaction step(cache, 1, StepKind::kStored);
    for (int block = 0; block < config.blocks; ++block) {
      cache.Append(team, block, frame.k, frame.v);
    }
    for (int index = 0; index < 4; ++index) {
      cache.AppendCamera(index / 2, index % 2, camera.k, camera.v);
    }
    step.Commit();
    if (i == 500) resident = ResidentMemory();
  }
  EXPECT_LE(ResidentMemory(), resident + 500'000);
  EXPECT_EQ(cache.time_index(), 20000);
  EXPECT_LE(cache.stats().retained_frames, 64);
}

}  // namespace
}  // namespace lingbot
