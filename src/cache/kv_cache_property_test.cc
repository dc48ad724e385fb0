// Random operation sequences against the naive model of cache_oracle.h.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>

#include "cache/cache_oracle.h"
#include "cache/kv_cache.h"

namespace lingbot {
namespace {

using testing::CacheOracle;
using testing::Snapshot;

// Runs a property that many times from a fixed seed and shrinks what fails.
template <typename Property>
void Hold(int times, int max_size, Property&& property) {
  rc::detail::TestParams params;
  params.seed = 20240607;
  params.maxSuccess = times;
  params.maxSize = max_size;
  const rc::detail::TestResult result = rc::detail::checkTestable(
      std::forward<Property>(property), rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
}

void CheckEqual(const char* what, bool equal) {
  if (!equal) RC_FAIL(std::string(what) + " differ");
}

// A cache and its model, driven by numbers.
class Machine {
 public:
  explicit Machine(const KvCacheConfig& config) : config_(config), cache_(config), oracle_(config) {
    sees_poison_ = config.poison;
  }

  void Do(uint32_t number) {
    const uint32_t choice = number * 2654435761u >> 16;
    switch (number % 16) {
      case 0:
        return Restart(choice);
      case 1:
      case 2:
        return Transient(choice);
      case 3:
        return Undecided(false, false);
      case 4:
        return Undecided(true, false);
      case 5:
        return Undecided(true, true);
      case 6:
        return Undecided(false, true);
      case 7:
      case 8:
        return Abort(choice);
      default:
        return Stored(choice);
    }
  }

 private:
  // Names for the frames of the next step.
  std::vector<uint64_t> NewFrames(uint32_t choice) {
    int count = 1;
    if (oracle_.stats().stored_frames == 0)
      count += static_cast<int>(choice) % config_.scale_frames;
    std::vector<uint64_t> frames(count);
    std::iota(frames.begin(), frames.end(), next_frame_);
    next_frame_ += count;
    return frames;
  }
  bool empty() const { return oracle_.stats().stored_frames == 0; }

  void CheckViews(const std::vector<uint64_t>& frames, bool evicted) const {
    for (int block = 0; block < config_.blocks; ++block) {
      CheckEqual("visible tokens",
                 testing::TokensOf(cache_.View(block), config_.heads, config_.head_dim) ==
                     oracle_.Visible(frames, evicted, block));
    }
    for (int pass = 0; pass < config_.camera.passes; ++pass) {
      for (int block = 0; block < config_.camera.blocks; ++block) {
        CheckEqual("camera tokens",
                   testing::TokensOf(cache_.CameraView(pass, block)) ==
                       oracle_.VisibleCamera(frames, pass * config_.camera.blocks + block));
      }
    }
    CheckPages();
  }

  // Every patch page in exactly one of scale, window, free.
  void CheckPages() const {
    std::vector<int32_t> pages;
    cache_.table().VisiblePages(&pages);
    const CacheStats stats = cache_.stats();
    const int64_t patches = stats.scale_pages + stats.window_pages;
    CheckEqual("visible and written pages",
               static_cast<int64_t>(pages.size()) == patches + stats.special_pages);
    pages.resize(patches);
    const auto free = cache_.table().free_pages();
    pages.insert(pages.end(), free.begin(), free.end());
    std::sort(pages.begin(), pages.end());
    std::vector<int32_t> all(cache_.table().patch_pages());
    std::iota(all.begin(), all.end(), 0);
    CheckEqual("patch pages and scale + window + free", pages == all);
  }

  void CheckBetweenSteps() const {
    CheckEqual("stats", cache_.stats() == oracle_.stats());
    const auto retained = cache_.table().retained_frames();
    CheckEqual("retained frames",
               std::vector<int64_t>(retained.begin(), retained.end()) == oracle_.retained());
    RC_ASSERT(cache_.stats().window_pages <= config_.sliding_window);
    RC_ASSERT(cache_.stats().retained_frames <= config_.trajectory_frames);
    RC_ASSERT(cache_.time_index() == oracle_.stats().time_index);
    CheckPages();
    if (sees_poison_) RC_ASSERT(testing::UnpoisonedFloats(cache_) == 0);
  }

  void Stored(uint32_t choice) {
    const std::vector<uint64_t> frames = NewFrames(choice);
    {
      FrameTransaction step(cache_, static_cast<int>(frames.size()), StepKind::kStored);
      testing::AppendAll(cache_, frames);
      CheckViews(frames, true);
      step.Commit();
    }
    oracle_.Store(frames);
    CheckBetweenSteps();
  }

  void Transient(uint32_t choice) {
    if (empty()) return Stored(choice);
    const Snapshot before(cache_);
    const std::vector<uint64_t> frames = NewFrames(choice);
    cache_.BeginStep(1, StepKind::kTransient);
    testing::AppendAll(cache_, frames);
    CheckViews(frames, false);
    if (choice % 2 == 0) {
      cache_.Discard();
    } else {
      cache_.RollbackLastFrame();
    }
    CheckRestored(before);
  }

  void Undecided(bool keep, bool evict_first) {
    if (empty()) return Stored(0);
    const Snapshot before(cache_);
    const std::vector<uint64_t> frames = NewFrames(0);
    {
      FrameTransaction step(cache_, 1, StepKind::kUndecided);
      testing::AppendAll(cache_, frames);
      CheckViews(frames, false);
      if (evict_first) {
        cache_.EvictDeferred();
        CheckViews(frames, true);
      }
      if (keep) step.Commit();
    }
    if (!keep) return CheckRestored(before);
    oracle_.Store(frames);
    CheckBetweenSteps();
  }

  // Leaves a step after a random number of its writes.
  void Abort(uint32_t choice) {
    const Snapshot before(cache_);
    const std::vector<uint64_t> frames = NewFrames(choice);
    const StepKind kind = empty() ? StepKind::kStored : static_cast<StepKind>(choice % 3);
    const int camera_caches = config_.camera.passes * config_.camera.blocks;
    const int writes = static_cast<int>(choice / 3) % (config_.blocks + camera_caches + 1);
    {
      FrameTransaction step(cache_, static_cast<int>(frames.size()), kind);
      for (int i = 0; i < writes; ++i) {
        if (i < config_.blocks) {
          testing::AppendBlock(cache_, frames, i);
        } else {
          const int cache = i - config_.blocks;
          testing::AppendCamera(cache_, frames, cache / config_.camera.blocks,
                                cache % config_.camera.blocks);
        }
      }
    }
    CheckRestored(before);
  }

  void Restart(uint32_t choice) {
    if (choice % 4 != 0) return Stored(choice);  // or streams would never grow long
    cache_.Reset();
    oracle_.Reset();
    CheckEqual("reset and fresh cache",
               !sees_poison_ || Snapshot(cache_) == Snapshot(KvCache(config_)));
    CheckBetweenSteps();
  }

  void CheckRestored(Snapshot before) const {
    Snapshot after(cache_);
    if (!sees_poison_) {  // unused bytes may keep what the discarded step wrote
      before.store = after.store;
      before.camera = after.camera;
    }
    CheckEqual("cache before and after a discarded step", after == before);
    CheckBetweenSteps();
  }

  KvCacheConfig config_;
  KvCache cache_;
  CacheOracle oracle_;
  bool sees_poison_ = false;
  uint64_t next_frame_ = 1;
};

KvCacheConfig RandomConfig(uint32_t seed, std::initializer_list<int> page_sizes) {
  const auto draw = [&seed](uint32_t count) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 8) % count);
  };
  KvCacheConfig config;
  config.blocks = 1 + draw(2);
  config.page_size = page_sizes.begin()[draw(static_cast<uint32_t>(page_sizes.size()))];
  config.heads = 1 + draw(2);
  config.head_dim = 1 + draw(2);
  config.dtype = draw(2) == 0 ? DType::kF32 : DType::kBF16;
  config.layout = draw(2) == 0 ? KvLayout::kPlanes : KvLayout::kInterleaved;
  config.scale_frames = 1 + draw(4);
  config.sliding_window = 1 + draw(5);
  config.trajectory_frames = config.scale_frames + 3 + draw(10);
  config.poison = draw(8) != 0;
  if (draw(4) != 0) config.camera = {1 + draw(2), 1 + draw(2), 1, 1 + draw(2)};
  return config;
}

void RunProgram(const KvCacheConfig& config, const std::vector<uint16_t>& program) {
  Machine machine(config);
  for (const uint16_t number : program) machine.Do(number);
}

TEST(KvCacheProperty, TenThousandRandomSequencesEqualTheModel) {
  Hold(10000, 60, [](uint32_t seed, const std::vector<uint16_t>& program) {
    RunProgram(RandomConfig(seed, {1, 2, 3, 5, 6, 7}), program);
  });
}

TEST(KvCacheProperty, LargePages) {
  Hold(60, 40, [](uint32_t seed, const std::vector<uint16_t>& program) {
    RunProgram(RandomConfig(seed, {24, 127}), program);
  });
  Hold(6, 25, [](uint32_t seed, const std::vector<uint16_t>& program) {
    RunProgram(RandomConfig(seed, {972}), program);
  });
}

// Short random programs rarely reach the second and third thinning.
TEST(KvCacheProperty, LongStreams) {
  Hold(100, 100, [](uint32_t seed, const std::vector<uint16_t>& extra) {
    std::vector<uint16_t> program(120, 15);
    for (size_t i = 0; i < extra.size(); ++i) {
      if (extra[i] % 16 != 0) program[extra[i] % program.size()] = extra[i];
    }
    RunProgram(RandomConfig(seed, {1, 4, 6}), program);
  });
}

}  // namespace
}  // namespace lingbot
