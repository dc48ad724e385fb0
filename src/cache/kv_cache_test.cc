#include "cache/kv_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include "cache/cache_oracle.h"
#include "cache/test_support.h"

namespace lingbot {
namespace {

using testing::AppendAll;
using testing::AppendBlock;
using testing::AppendCamera;
using testing::CacheOracle;
using testing::SmallConfig;
using testing::Snapshot;
using testing::Store;
using Frames = std::vector<uint64_t>;

std::vector<uint64_t> Seen(const KvCache& cache, int block) {
  return testing::TokensOf(cache.View(block), cache.config().heads, cache.config().head_dim);
}

// Stores the scale step and `later` more frames, named 1, 2, ...
void Fill(KvCache& cache, CacheOracle& oracle, int later) {
  Frames scale;
  for (int i = 1; i <= cache.config().scale_frames; ++i) scale.push_back(i);
  Store(cache, scale);
  oracle.Store(scale);
  for (int i = 1; i <= later; ++i) {
    const Frames frame{scale.size() + i};
    Store(cache, frame);
    oracle.Store(frame);
  }
}

struct Variant {
  int64_t page_size;
  DType dtype;
  KvLayout layout;
};

class KvCacheVariants : public ::testing::TestWithParam<Variant> {};

TEST_P(KvCacheVariants, EveryStepSeesWhatTheModelSees) {
  KvCacheConfig config = SmallConfig();
  config.page_size = GetParam().page_size;
  config.dtype = GetParam().dtype;
  config.layout = GetParam().layout;
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 5);
  uint64_t name = 100;
  for (const StepKind kind :
       {StepKind::kTransient, StepKind::kStored, StepKind::kUndecided, StepKind::kStored}) {
    const Frames frame{++name};
    FrameTransaction step(cache, 1, kind);
    AppendAll(cache, frame);
    for (int block = 0; block < config.blocks; ++block) {
      EXPECT_EQ(Seen(cache, block), oracle.Visible(frame, kind == StepKind::kStored, block));
    }
    if (kind == StepKind::kTransient) continue;
    step.Commit();
    oracle.Store(frame);
    EXPECT_EQ(cache.stats(), oracle.stats());
    EXPECT_EQ(testing::UnpoisonedFloats(cache), 0);
  }
}

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  for (const int64_t page_size : {1, 2, 5, 6, 7, 24, 127, 972}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const KvLayout layout : {KvLayout::kPlanes, KvLayout::kInterleaved}) {
        variants.push_back({page_size, dtype, layout});
      }
    }
  }
  return variants;
}

INSTANTIATE_TEST_SUITE_P(All, KvCacheVariants, ::testing::ValuesIn(AllVariants()),
                         [](const auto& test) {
                           return std::string(NameOf(test.param.dtype)) + "_" +
                                  (test.param.layout == KvLayout::kPlanes ? "planes_"
                                                                          : "interleaved_") +
                                  std::to_string(test.param.page_size);
                         });

// The actions of a step of `frames` frames, in the order of a model's forward pass.
std::vector<std::function<void(KvCache&)>> Actions(const KvCacheConfig& config,
                                                   const Frames& frames, StepKind kind) {
  std::vector<std::function<void(KvCache&)>> actions;
  for (int block = 0; block < config.blocks; ++block) {
    actions.push_back([=](KvCache& cache) { AppendBlock(cache, frames, block); });
    actions.push_back([=](KvCache& cache) { cache.View(block); });
  }
  for (int pass = 0; pass < config.camera.passes; ++pass) {
    for (int block = 0; block < config.camera.blocks; ++block) {
      actions.push_back([=](KvCache& cache) { AppendCamera(cache, frames, pass, block); });
      actions.push_back([=](KvCache& cache) { cache.CameraView(pass, block); });
    }
  }
  if (kind == StepKind::kUndecided) {
    actions.push_back([](KvCache& cache) { cache.EvictDeferred(); });
  }
  return actions;
}

void AbortAfter(KvCache& cache, const Frames& frames, StepKind kind, size_t count) {
  const auto actions = Actions(cache.config(), frames, kind);
  const FrameTransaction step(cache, static_cast<int>(frames.size()), kind);
  for (size_t i = 0; i < count; ++i) actions[i](cache);
  throw std::runtime_error("the frame fails here");
}

// Aborts a step at every point, from a cache that has stored `later` frames after the scale step
// (-1: none).
void AbortEverywhere(int later, StepKind kind) {
  const KvCacheConfig config = SmallConfig();
  KvCache cache(config);
  CacheOracle oracle(config);
  Frames frames{77};
  if (later >= 0) {
    Fill(cache, oracle, later);
  } else {
    frames = {77, 78};
  }
  const Snapshot before(cache);
  const size_t points = Actions(config, frames, kind).size();
  for (size_t count = 0; count <= points; ++count) {
    EXPECT_THROW(AbortAfter(cache, frames, kind, count), std::runtime_error);
    ASSERT_TRUE(Snapshot(cache) == before) << "abort after " << count << " actions";
    EXPECT_FALSE(cache.step_open());
  }
  // Usable: the next stored frame sees what it must.
  const Frames next = later >= 0 ? Frames{99} : Frames{99, 100};
  FrameTransaction step(cache, static_cast<int>(next.size()), StepKind::kStored);
  AppendAll(cache, next);
  for (int block = 0; block < config.blocks; ++block) {
    EXPECT_EQ(Seen(cache, block), oracle.Visible(next, true, block));
  }
  step.Commit();
  oracle.Store(next);
  EXPECT_EQ(cache.stats(), oracle.stats());
}

TEST(KvCache, AbortAtAnyPointLeavesNoTrace) {
  AbortEverywhere(-1, StepKind::kStored);
  // Window not full, full, trajectory budget (9) full, thinned.
  for (const int later : {0, 2, 3, 4, 7, 8, 11}) {
    for (const StepKind kind : {StepKind::kStored, StepKind::kTransient, StepKind::kUndecided}) {
      SCOPED_TRACE(later);
      AbortEverywhere(later, kind);
    }
  }
}

TEST(KvCache, DiscardedFramesDoNotAdvanceTime) {
  const KvCacheConfig config = SmallConfig();
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 2);
  EXPECT_EQ(cache.time_index(), 4);
  for (const StepKind kind : {StepKind::kTransient, StepKind::kUndecided, StepKind::kStored}) {
    cache.BeginStep(1, kind);
    AppendAll(cache, {9});
    EXPECT_EQ(cache.time_index(), 4);
    EXPECT_EQ(cache.stats().stored_frames, 4);
    cache.Discard();
    EXPECT_EQ(cache.time_index(), 4);
  }
  Store(cache, {9});
  EXPECT_EQ(cache.time_index(), 5);
}

TEST(KvCache, ResetEqualsAFreshCacheBitForBit) {
  const KvCacheConfig config = SmallConfig();
  KvCache used(config);
  CacheOracle oracle(config);
  Fill(used, oracle, 20);
  used.BeginStep(1, StepKind::kUndecided);
  AppendAll(used, {50});
  used.Reset();
  EXPECT_TRUE(Snapshot(used) == Snapshot(KvCache(config)));
  KvCache fresh(config);
  for (KvCache* cache : {&used, &fresh}) {
    Store(*cache, {200});  // a scale step shorter than the last one
    for (uint64_t name = 201; name < 215; ++name) Store(*cache, {name});
  }
  EXPECT_TRUE(Snapshot(used) == Snapshot(fresh));
}

TEST(KvCache, ThinsEveryBlockAndCameraCacheAlike) {
  KvCacheConfig config = SmallConfig();
  std::vector<std::string> messages;
  config.log = [&](const std::string& message) { messages.push_back(message); };
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 7);
  EXPECT_EQ(cache.stats().retained_frames, 9);
  EXPECT_TRUE(messages.empty());
  // Frames 2 to 9 follow the scale frames; of 2 3 4 5 the 2nd and the 4th go.
  Store(cache, {10});
  oracle.Store({10});
  const auto retained = cache.table().retained_frames();
  EXPECT_EQ(std::vector<int64_t>(retained.begin(), retained.end()),
            (std::vector<int64_t>{0, 1, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(messages.size(), 1u);
  const Frames next{11};
  cache.BeginStep(1, StepKind::kTransient);
  AppendAll(cache, next);
  for (int block = 0; block < config.blocks; ++block) {
    EXPECT_EQ(Seen(cache, block), oracle.Visible(next, false, block));
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (int block = 0; block < 2; ++block) {
      EXPECT_EQ(testing::TokensOf(cache.CameraView(pass, block)),
                oracle.VisibleCamera(next, pass * 2 + block));
    }
  }
  cache.Discard();
  EXPECT_EQ(testing::UnpoisonedFloats(cache), 0);
  for (uint64_t name = 12; name < 40; ++name) Store(cache, {name});
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_EQ(cache.time_index(), 38);
}

TEST(KvCache, AThrowingLogLeavesTheCacheUnchanged) {
  KvCacheConfig config = SmallConfig();
  config.log = [](const std::string&) { throw std::runtime_error("disk full"); };
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 7);
  const Snapshot before(cache);
  EXPECT_THROW(Store(cache, {10}), std::runtime_error);
  EXPECT_TRUE(Snapshot(cache) == before);
}

TEST(KvCache, StrictRefusesAndStaysUsable) {
  KvCacheConfig config = SmallConfig();
  config.strict = true;
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 7);
  const Snapshot before(cache);
  EXPECT_EQ(CodeOf([&] { cache.BeginStep(1, StepKind::kStored); }), ErrorCode::kTrajectoryFull);
  EXPECT_FALSE(cache.step_open());
  const auto keep_undecided = [&] {
    FrameTransaction step(cache, 1, StepKind::kUndecided);
    AppendAll(cache, {10});
    step.Commit();
  };
  EXPECT_EQ(CodeOf(keep_undecided), ErrorCode::kTrajectoryFull);
  EXPECT_TRUE(Snapshot(cache) == before);
  // Frames that are not stored need no budget.
  for (const StepKind kind : {StepKind::kTransient, StepKind::kUndecided}) {
    cache.BeginStep(1, kind);
    AppendAll(cache, {10});
    EXPECT_EQ(Seen(cache, 1), oracle.Visible({10}, false, 1));
    cache.Discard();
    EXPECT_TRUE(Snapshot(cache) == before);
  }
}

TEST(KvCache, RefusesStepsThatTheStreamCannotTake) {
  KvCache cache(SmallConfig());
  for (const int frames : {0, -1, 3, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(CodeOf([&] { cache.BeginStep(frames, StepKind::kStored); }),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(CodeOf([&] { cache.BeginStep(1, StepKind::kTransient); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { cache.BeginStep(1, StepKind::kUndecided); }), ErrorCode::kInvalidArgument);
  Store(cache, {1, 2});
  EXPECT_EQ(CodeOf([&] { cache.BeginStep(2, StepKind::kStored); }), ErrorCode::kInvalidArgument);
  cache.BeginStep(1, StepKind::kStored);
  EXPECT_EQ(CodeOf([&] { cache.BeginStep(1, StepKind::kStored); }), ErrorCode::kInternal);
}

TEST(KvCache, RefusesMisuseInsideAndOutsideAStep) {
  KvCache cache(SmallConfig());
  const auto internal = [](const std::function<void()>& call) {
    EXPECT_EQ(CodeOf(call), ErrorCode::kInternal);
  };
  internal([&] { AppendBlock(cache, {1}, 0); });
  internal([&] { AppendCamera(cache, {1}, 0, 0); });
  internal([&] { cache.View(0); });
  internal([&] { cache.CameraView(0, 0); });
  internal([&] { cache.Commit(); });
  internal([&] { cache.EvictDeferred(); });
  internal([&] { cache.RollbackLastFrame(); });
  cache.Discard();  // nothing to do

  cache.BeginStep(2, StepKind::kStored);
  internal([&] { cache.RollbackLastFrame(); });  // two frames
  internal([&] { cache.View(0); });
  internal([&] { AppendBlock(cache, {1}, 0); });        // too few frames
  internal([&] { AppendBlock(cache, {1, 2, 3}, 0); });  // too many
  internal([&] { AppendCamera(cache, {1}, 0, 0); });
  AppendBlock(cache, {1, 2}, 0);
  internal([&] { AppendBlock(cache, {1, 2}, 0); });
  internal([&] { AppendBlock(cache, {1, 2}, 2); });
  internal([&] { AppendBlock(cache, {1, 2}, -1); });
  internal([&] { cache.View(1); });
  internal([&] { cache.View(2); });
  internal([&] { cache.View(-1); });
  internal([&] { cache.Commit(); });  // block 1 is missing
  AppendBlock(cache, {1, 2}, 1);
  internal([&] { cache.Commit(); });  // the camera caches are missing
  internal([&] { AppendCamera(cache, {1, 2}, 2, 0); });
  internal([&] { AppendCamera(cache, {1, 2}, 0, -1); });
  for (int cache_index = 0; cache_index < 4; ++cache_index) {
    AppendCamera(cache, {1, 2}, cache_index / 2, cache_index % 2);
  }
  internal([&] { AppendCamera(cache, {1, 2}, 1, 1); });
  cache.Commit();

  cache.BeginStep(1, StepKind::kTransient);
  AppendAll(cache, {3});
  internal([&] { cache.EvictDeferred(); });
  internal([&] { cache.Commit(); });
  cache.RollbackLastFrame();
  EXPECT_FALSE(cache.step_open());
}

TEST(KvCache, RefusesTensorsThatDoNotFit) {
  const KvCacheConfig config = SmallConfig();
  KvCache cache(config);
  const ThreadTeam team(1);
  const testing::StepInput good = testing::BlockInput(config, {1}, 0);
  const testing::StepInput longer = testing::BlockInput(config, {1, 2}, 0);
  const Buffer half(DType::kBF16, {9, 2, 3});
  const Buffer narrow(DType::kF32, {9, 2, 2});
  const TensorView transposed(good.k.raw(), DType::kF32, good.k.shape(), Shape{1, 3, 2});
  const TensorView nothing(nullptr, DType::kF32, good.k.shape());
  cache.BeginStep(1, StepKind::kStored);
  for (const TensorView& bad :
       {TensorView(), half.view(), narrow.view(), longer.k, transposed, nothing}) {
    EXPECT_EQ(CodeOf([&] { cache.Append(team, 0, bad, good.v); }), ErrorCode::kInternal);
    EXPECT_EQ(CodeOf([&] { cache.Append(team, 0, good.k, bad); }), ErrorCode::kInternal);
    EXPECT_EQ(CodeOf([&] { cache.AppendCamera(0, 0, bad, bad); }), ErrorCode::kInternal);
  }
  cache.Append(team, 0, good.k, good.v);
}

TEST(KvCache, RefusesBadConfigurations) {
  constexpr int kMax = std::numeric_limits<int>::max();
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto refused = [](const std::function<void(KvCacheConfig&)>& change) {
    KvCacheConfig config = SmallConfig();
    config.poison = false;
    change(config);
    EXPECT_EQ(CodeOf([&] { KvCache cache(config); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(CodeOf([&] { KvCache::PlanBytes(config, 10); }), ErrorCode::kInvalidArgument);
  };
  for (const int bad : {0, -5}) {
    refused([=](KvCacheConfig& config) { config.blocks = bad; });
    refused([=](KvCacheConfig& config) { config.page_size = bad; });
    refused([=](KvCacheConfig& config) { config.specials_per_frame = bad; });
    refused([=](KvCacheConfig& config) { config.heads = bad; });
    refused([=](KvCacheConfig& config) { config.head_dim = bad; });
    refused([=](KvCacheConfig& config) { config.scale_frames = bad; });
    refused([=](KvCacheConfig& config) { config.sliding_window = bad; });
    refused([=](KvCacheConfig& config) { config.trajectory_frames = bad; });
    refused([=](KvCacheConfig& config) { config.camera.passes = bad; });
    refused([=](KvCacheConfig& config) { config.camera.head_dim = bad; });
  }
  refused([](KvCacheConfig& config) { config.dtype = DType::kF16; });
  refused([](KvCacheConfig& config) { config.page_size = kHuge; });
  refused([](KvCacheConfig& config) { config.heads = kHuge; });
  refused([](KvCacheConfig& config) { config.heads = config.head_dim = kMax; });
  refused([](KvCacheConfig& config) { config.camera.heads = config.camera.head_dim = kMax; });
  refused([](KvCacheConfig& config) { config.sliding_window = kMax; });
  refused([](KvCacheConfig& config) { config.trajectory_frames = 3; });
}

TEST(KvCache, WorksWithoutACameraHead) {
  KvCacheConfig config = SmallConfig();
  config.camera = {};
  KvCache cache(config);
  CacheOracle oracle(config);
  Fill(cache, oracle, 12);
  EXPECT_EQ(cache.stats(), oracle.stats());
}

TEST(KvCache, ViewOfATokenlessTailStaysInsideThePage) {
  KvCacheConfig config = SmallConfig();
  for (const int64_t page_size : {1, 5, 6, 7}) {
    config.page_size = page_size;
    KvCache cache(config);
    cache.BeginStep(2, StepKind::kStored);
    AppendAll(cache, {1, 2});
    const ops::PagedKvView view = cache.View(0);
    EXPECT_GE(view.last_page_len, 1);
    EXPECT_LE(view.last_page_len, page_size);
    EXPECT_EQ(view.tokens(), 2 * (6 + page_size));
    // All blocks share one list.
    EXPECT_EQ(view.pages.data(), cache.View(1).pages.data());
  }
}

}  // namespace
}  // namespace lingbot
