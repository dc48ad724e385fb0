#ifndef LINGBOT_CACHE_CAMERA_CACHE_H_
#define LINGBOT_CACHE_CAMERA_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/system_memory.h"
#include "ops/attention.h"
#include "tensor/device_memory.h"

namespace lingbot {

// Sizes of the camera head's trunk; all zero where no camera head is cached.
struct CameraCacheConfig {
  int passes = 0;  // refinement passes
  int blocks = 0;  // trunk blocks of one pass
  int64_t heads = 0;
  int64_t head_dim = 0;
};

// The camera head's memory: one camera token of every retained frame, for each pass and trunk block
// separately, float32. Which entries are in use is the page table's business: entry i here belongs
// to the same frame as entry i of the special stream. Memory is [max_entries, passes, blocks, 2,
// heads, head_dim], so that it is spent as entries come; with `poison`, whatever holds no entry is
// NaN.
class CameraCache {
 public:
  // Throws kInvalidArgument on sizes that are neither all zero nor all positive, or too large for
  // 64 bits.
  // `gpu` is null for memory on the CPU; on a GPU Provide comes before Write.
  CameraCache(const CameraCacheConfig& config, int64_t max_entries, bool poison,
              ops::Context* gpu = nullptr);

  // Bytes of one entry in all caches.
  static uint64_t EntryBytes(const CameraCacheConfig& config);

  // Makes entries usable in every cache. Throws kOutOfMemory.
  void Provide(int64_t first, int64_t count);

  // Writes k, v [frames, heads, head_dim] (float32, channels contiguous, other strides free) as
  // entries `first` and following; a GPU reads that number from *first_on_gpu. Throws kInternal if
  // anything does not fit.
  void Write(int pass, int block, int64_t first, const TensorView& k, const TensorView& v,
             const int32_t* first_on_gpu = nullptr);
  ops::EntryKv View(int pass, int block, int64_t entries) const;

  // Copies entries to or from host memory, [count, passes, blocks, 2, heads, head_dim]. On a GPU,
  // not in order with a context's operators.
  void ReadEntries(int64_t first, int64_t count, std::byte* target) const;
  void WriteEntries(int64_t first, int64_t count, const std::byte* source);
  size_t entry_bytes() const { return entry_bytes_; }

  // Closes the ranks of `entries` entries in every cache after `dropped` (ascending) have left.
  void Compact(std::span<const int64_t> dropped, int64_t entries) noexcept;
  // In poison mode fills entries with NaN in every cache; otherwise does nothing.
  void Poison(int64_t first, int64_t count) noexcept;

  // Position of a pass's block in per-cache lists; throws kInternal outside the configuration.
  int Index(int pass, int block) const;
  int caches() const { return config_.passes * config_.blocks; }

  // All memory, for comparison in tests; on the CPU only.
  std::span<const std::byte> bytes() const { return {memory_.data(), memory_.size()}; }

 private:
  void CheckEntries(int64_t first, int64_t count) const;
  void CompactOnGpu(std::span<const int64_t> dropped, int64_t entries) noexcept;
  // Entry `entry` of all caches together.
  std::byte* Entry(int64_t entry) const;
  float* Entry(int cache, int kv, int64_t entry) const;
  int64_t entry_stride() const { return int64_t{caches()} * 2 * part_floats_; }  // in floats
  void WriteOne(float* target, const TensorView& source) const;
  void CheckInput(const char* name, const TensorView& input, int64_t first) const;

  CameraCacheConfig config_;
  int64_t max_entries_;
  bool poison_;
  ops::Context* gpu_;
  int64_t part_floats_ = 0;  // K or V of an entry in one cache
  size_t entry_bytes_ = 0;   // of all caches
  LazyMemory memory_;
  CudaLazyMemory gpu_memory_;
};

}  // namespace lingbot

#endif  // LINGBOT_CACHE_CAMERA_CACHE_H_
