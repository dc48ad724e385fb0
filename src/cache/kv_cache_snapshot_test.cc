// A cache that was saved and loaded is, in poison mode byte for byte, the cache that was saved.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cache/cache_oracle.h"
#include "cache/kv_cache.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

using testing::AppendAll;
using testing::SmallConfig;
using testing::Snapshot;
using testing::Store;
using testing::TokensOf;

class MemorySink : public ByteSink {
 public:
  void Write(const void* data, size_t bytes) override {
    const char* begin = static_cast<const char*>(data);
    contents_.insert(contents_.end(), begin, begin + bytes);
  }
  const std::vector<char>& contents() const { return contents_; }

 private:
  std::vector<char> contents_;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::vector<char> contents) : contents_(std::move(contents)) {}
  void Read(void* data, size_t bytes) override {
    Check(bytes <= left(), ErrorCode::kCorruptFile, "{} ends early", name_);
    std::memcpy(data, contents_.data() + position_, bytes);
    position_ += bytes;
  }
  uint64_t left() const override { return contents_.size() - position_; }
  const std::string& name() const override { return name_; }

 private:
  std::vector<char> contents_;
  size_t position_ = 0;
  std::string name_ = "memory";
};

std::vector<char> Saved(KvCache& cache) {
  MemorySink sink;
  cache.Save(sink);
  return sink.contents();
}

void LoadInto(KvCache& cache, const std::vector<char>& contents) {
  MemorySource source(contents);
  cache.Load(source);
  EXPECT_EQ(source.left(), 0u);
}

// Scale step of 2, then stored, transient and deferred frames in turn; frames have the names
// 1, 2...
void Step(KvCache& cache, int step) {
  if (step == 0) return Store(cache, {1, 2});
  const auto name = static_cast<uint64_t>(step) + 2;
  if (step % 4 == 2) {
    cache.BeginStep(1, StepKind::kTransient);
    AppendAll(cache, {name});
    return cache.Discard();
  }
  if (step % 4 == 3) {
    cache.BeginStep(1, StepKind::kUndecided);
    AppendAll(cache, {name});
    return cache.Commit();
  }
  Store(cache, {name});
}

class EveryKind : public ::testing::TestWithParam<std::tuple<KvLayout, DType>> {
 protected:
  static KvCacheConfig Config() {
    KvCacheConfig config = SmallConfig();
    config.layout = std::get<0>(GetParam());
    config.dtype = std::get<1>(GetParam());
    return config;
  }
};

// Past eviction (window 3) and several thinnings (budget 9); into a cache that has seen other
// frames.
TEST_P(EveryKind, LoadedCacheIsTheSavedOneAfterEveryStep) {
  constexpr int kSteps = 30;
  KvCache cache(Config());
  KvCache used(Config());
  for (int step = 0; step < 17; ++step) Step(used, step == 0 ? 0 : step + 100);
  for (int step = 0; step <= kSteps; ++step) {
    const std::vector<char> contents = Saved(cache);
    KvCache fresh(Config());
    LoadInto(fresh, contents);
    LoadInto(used, contents);
    ASSERT_TRUE(Snapshot(fresh) == Snapshot(cache)) << step;
    ASSERT_TRUE(Snapshot(used) == Snapshot(cache)) << step;
    ASSERT_EQ(Saved(fresh), contents) << step;
    // And goes on like it.
    for (int next = step; next < step + 6; ++next) Step(fresh, next);
    KvCache on(Config());
    LoadInto(on, contents);
    for (int next = step; next < step + 6; ++next) Step(on, next);
    ASSERT_TRUE(Snapshot(fresh) == Snapshot(on));
    Step(cache, step);
  }
}
INSTANTIATE_TEST_SUITE_P(LayoutsAndTypes, EveryKind,
                         ::testing::Combine(::testing::Values(KvLayout::kPlanes,
                                                              KvLayout::kInterleaved),
                                            ::testing::Values(DType::kF32, DType::kBF16)));

TEST(KvCacheSnapshotTest, BytesDoNotDependOnTheLayout) {
  KvCacheConfig config = SmallConfig();
  KvCache planes(config);
  config.layout = KvLayout::kInterleaved;
  KvCache pages(config);
  for (int step = 0; step < 21; ++step) {
    Step(planes, step);
    Step(pages, step);
    ASSERT_EQ(Saved(planes), Saved(pages)) << step;
  }
  KvCache other(config);
  LoadInto(other, Saved(planes));
  EXPECT_TRUE(Snapshot(other) == Snapshot(pages));
}

TEST(KvCacheSnapshotTest, ThinningIsReportedOnceAcrossSnapshots) {
  KvCacheConfig config = SmallConfig();
  int reports = 0;
  config.log = [&](const std::string&) { ++reports; };
  KvCache cache(config);
  for (int step = 0; step < 20; ++step) Step(cache, step);
  ASSERT_EQ(reports, 1);
  KvCache loaded(config);
  LoadInto(loaded, Saved(cache));
  for (int step = 20; step < 40; ++step) Step(loaded, step);
  EXPECT_EQ(reports, 1);
}

TEST(KvCacheSnapshotTest, OpenStepsAreNotSaved) {
  KvCache cache(SmallConfig());
  Store(cache, {1, 2});
  const std::vector<char> contents = Saved(cache);
  cache.BeginStep(1, StepKind::kStored);
  EXPECT_THROW(Saved(cache), Error);
  EXPECT_THROW(LoadInto(cache, contents), Error);
  cache.Discard();
  EXPECT_EQ(Saved(cache), contents);
}

// Whatever the bytes: an error, and the cache is what it was or empty; or a state that works.
TEST(KvCacheSnapshotTest, DamagedBytesDoNoHarm) {
  KvCache cache(SmallConfig());
  for (int step = 0; step < 14; ++step) Step(cache, step);
  const std::vector<char> whole = Saved(cache);
  KvCache target(SmallConfig());
  Store(target, {5, 6});
  const Snapshot before(target);
  target.Reset();
  const Snapshot empty(target);
  const auto attempt = [&](const std::vector<char>& contents) {
    target.Reset();
    Store(target, {5, 6});
    MemorySource source(contents);
    try {
      target.Load(source);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorruptFile) << error.what();
      EXPECT_TRUE(Snapshot(target) == before || Snapshot(target) == empty);
      return false;
    }
    if (target.stats().stored_frames == 0) {
      Store(target, {7});
    }
    Store(target, {8});
    return true;
  };
  for (size_t length = 0; length < whole.size(); length += length < 400 ? 1 : 97) {
    EXPECT_FALSE(attempt({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}));
  }
  std::mt19937 random(3);
  constexpr size_t kTable = 300;  // the page table comes first
  for (int i = 0; i < 3000; ++i) {
    std::vector<char> changed = whole;
    const size_t place = random() % kTable;
    changed[place] = static_cast<char>(random());
    if (i % 3 == 0) {
      const uint64_t giant = ~uint64_t{0} >> (random() % 40);
      std::memcpy(changed.data() + place, &giant, sizeof(giant));
    }
    attempt(changed);
  }
}

}  // namespace
}  // namespace lingbot
