#ifndef LINGBOT_CACHE_CACHE_ORACLE_H_
#define LINGBOT_CACHE_CACHE_ORACLE_H_

// For tests: frames with recognisable contents, and a naive model of the cache that knows no pages,
// only a list of frames with their tokens.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/kv_cache.h"
#include "tensor/buffer.h"

namespace lingbot::testing {

// A small cache: P = 3, 2 blocks of 2 heads of 3 channels, scale 2, window 3, budget 9, a camera
// head of 2 passes and 2 blocks, poison on.
KvCacheConfig SmallConfig();

// K and V of a step as they come from a model: slices of one [rows, 3, heads, head_dim] tensor.
struct StepInput {
  Buffer qkv;
  TensorView k;
  TensorView v;
};

// `frames` names the frames; every float of a frame's K and V follows from its name and position.
StepInput BlockInput(const KvCacheConfig& config, const std::vector<uint64_t>& frames, int block);
StepInput CameraInput(const KvCacheConfig& config, const std::vector<uint64_t>& frames, int cache);

void AppendBlock(KvCache& cache, const std::vector<uint64_t>& frames, int block);
void AppendCamera(KvCache& cache, const std::vector<uint64_t>& frames, int pass, int block);
// All blocks and camera caches.
void AppendAll(KvCache& cache, const std::vector<uint64_t>& frames);
// A whole stored step.
void Store(KvCache& cache, const std::vector<uint64_t>& frames);

// The K and V values of every visible token, one number (a hash of the values) each, sorted: two of
// these are equal if the sets of tokens are.
std::vector<uint64_t> TokensOf(const ops::PagedKvView& view, int64_t heads, int64_t head_dim);
std::vector<uint64_t> TokensOf(const ops::EntryKv& view);

// Everything about a cache that a discarded step must not change.
struct Snapshot {
  explicit Snapshot(const KvCache& cache);
  friend bool operator==(const Snapshot&, const Snapshot&) = default;

  CacheStats stats;
  std::vector<int32_t> free_pages;
  std::vector<int32_t> visible_pages;
  std::vector<int64_t> retained;
  std::vector<std::byte> store;
  std::vector<std::byte> camera;
};

// The specification, as literally as possible.
class CacheOracle {
 public:
  explicit CacheOracle(const KvCacheConfig& config) : config_(config) {}

  // What the frames of a step see; `evicted` says whether eviction comes before attention.
  std::vector<uint64_t> Visible(const std::vector<uint64_t>& frames, bool evicted, int block) const;
  std::vector<uint64_t> VisibleCamera(const std::vector<uint64_t>& frames, int cache) const;
  void Store(const std::vector<uint64_t>& frames);
  void Reset();
  // Of the cache between steps.
  CacheStats stats() const;
  std::vector<int64_t> retained() const;

 private:
  struct Frame {
    int64_t time;
    uint64_t name;
    bool scale;
  };

  void AddPatches(uint64_t frame, int block, std::vector<uint64_t>* tokens) const;
  void AddSpecials(uint64_t frame, int block, std::vector<uint64_t>* tokens) const;

  KvCacheConfig config_;
  std::vector<Frame> patches_;     // frames whose patch tokens are kept
  std::vector<Frame> trajectory_;  // frames whose special and camera tokens are kept
  int64_t stored_ = 0;
};

// By how many the floats of the cache that are not NaN differ from those that committed frames
// fill: 0 in a poisoned cache between steps.
int64_t UnpoisonedFloats(const KvCache& cache);

}  // namespace lingbot::testing

#endif  // LINGBOT_CACHE_CACHE_ORACLE_H_
