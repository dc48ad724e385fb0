#include "cache/camera_cache.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "cache/checked_size.h"
#include "cache/page_table.h"
#include "ops/gpu_memory.h"

namespace lingbot {
namespace {

void CheckConfig(const CameraCacheConfig& config) {
  if (config.passes == 0 && config.blocks == 0 && config.heads == 0 && config.head_dim == 0) return;
  CheckPositive("camera passes", config.passes, 1 << 15);
  CheckPositive("camera blocks", config.blocks, 1 << 15);
  CheckPositive("camera heads", config.heads);
  CheckPositive("camera head_dim", config.head_dim);
}

}  // namespace

uint64_t CameraCache::EntryBytes(const CameraCacheConfig& config) {
  CheckConfig(config);
  return CheckedProduct("a camera entry", {config.passes, config.blocks, 2, config.heads,
                                           config.head_dim, static_cast<int64_t>(sizeof(float))});
}

CameraCache::CameraCache(const CameraCacheConfig& config, int64_t max_entries, bool poison,
                         ops::Context* gpu)
    : config_(config), max_entries_(max_entries), poison_(poison), gpu_(gpu) {
  CheckPositive("max_entries", max_entries, int64_t{1} << 32);
  part_floats_ = config.heads * config.head_dim;
  entry_bytes_ = EntryBytes(config);
  const uint64_t bytes =
      CheckedProduct("the camera cache", {static_cast<int64_t>(entry_bytes_), max_entries});
  if (gpu_ != nullptr && bytes > 0) {
    gpu_memory_ = CudaLazyMemory(bytes);
    if (poison_) gpu_memory_.Map(0, bytes);
  } else {
    memory_ = LazyMemory(bytes);
  }
  Poison(0, max_entries_);
}

int CameraCache::Index(int pass, int block) const {
  Check(pass >= 0 && pass < config_.passes && block >= 0 && block < config_.blocks,
        ErrorCode::kInternal, "pass {}, block {} of a camera cache of {} passes and {} blocks",
        pass, block, config_.passes, config_.blocks);
  return pass * config_.blocks + block;
}

std::byte* CameraCache::Entry(int64_t entry) const {
  std::byte* base = gpu_ != nullptr ? gpu_memory_.data() : memory_.data();
  return base + static_cast<size_t>(entry) * entry_bytes_;
}

float* CameraCache::Entry(int cache, int kv, int64_t entry) const {
  return reinterpret_cast<float*>(Entry(entry)) + (int64_t{cache} * 2 + kv) * part_floats_;
}

void CameraCache::Provide(int64_t first, int64_t count) {
  if (gpu_ == nullptr) return;
  gpu_memory_.Map(static_cast<size_t>(first) * entry_bytes_,
                  static_cast<size_t>(count) * entry_bytes_);
}

void CameraCache::CheckInput(const char* name, const TensorView& input, int64_t first) const {
  const Device device = gpu_ != nullptr ? Device::kCuda : Device::kCpu;
  Check(input.raw() != nullptr && input.device() == device && input.dtype() == DType::kF32 &&
            input.rank() == 3 && input.dim(1) == config_.heads &&
            input.dim(2) == config_.head_dim && (config_.head_dim == 1 || input.stride(2) == 1),
        ErrorCode::kInternal,
        "the camera cache was given {} of shape {}, strides {}, {}; expected float32 [frames, {}, "
        "{}] on the cache's device with contiguous channels",
        name, input.shape(), input.strides(), NameOf(input.dtype()), config_.heads,
        config_.head_dim);
  Check(first >= 0 && input.dim(0) >= 1 && input.dim(0) <= max_entries_ - first,
        ErrorCode::kInternal, "{} frames from entry {} do not fit a camera cache of {} entries",
        input.dim(0), first, max_entries_);
}

void CameraCache::WriteOne(float* target, const TensorView& source) const {
  for (int64_t frame = 0; frame < source.dim(0); ++frame) {
    float* part = target + frame * entry_stride();
    for (int64_t head = 0; head < config_.heads; ++head) {
      const float* from = source.data<float>() + frame * source.stride(0) + head * source.stride(1);
      part = std::copy_n(from, config_.head_dim, part);
    }
  }
}

void CameraCache::Write(int pass, int block, int64_t first, const TensorView& k,
                        const TensorView& v, const int32_t* first_on_gpu) {
  const int cache = Index(pass, block);
  CheckInput("K", k, first);
  CheckInput("V", v, first);
  Check(k.dim(0) == v.dim(0), ErrorCode::kInternal,
        "the camera cache was given K of {} frames but V of {}", k.dim(0), v.dim(0));
  if (gpu_ != nullptr) {
    return ops::StoreGpuEntries(*gpu_, k, v, Entry(cache, 0, 0), Entry(cache, 1, 0), entry_stride(),
                                first_on_gpu);
  }
  WriteOne(Entry(cache, 0, first), k);
  WriteOne(Entry(cache, 1, first), v);
}

ops::EntryKv CameraCache::View(int pass, int block, int64_t entries) const {
  const int cache = Index(pass, block);
  Check(entries >= 0 && entries <= max_entries_, ErrorCode::kInternal,
        "{} entries of a camera cache of {}", entries, max_entries_);
  const Shape shape{entries, config_.heads, config_.head_dim};
  const Shape strides{entry_stride(), config_.head_dim, 1};
  const Device device = gpu_ != nullptr ? Device::kCuda : Device::kCpu;
  return {TensorView(Entry(cache, 0, 0), DType::kF32, shape, strides, device),
          TensorView(Entry(cache, 1, 0), DType::kF32, shape, strides, device), nullptr,
          max_entries_};
}

void CameraCache::CheckEntries(int64_t first, int64_t count) const {
  Check(first >= 0 && count >= 0 && count <= max_entries_ - first, ErrorCode::kInternal,
        "{} entries from entry {} of a camera cache of {}", count, first, max_entries_);
}

void CameraCache::ReadEntries(int64_t first, int64_t count, std::byte* target) const {
  CheckEntries(first, count);
  const size_t bytes = static_cast<size_t>(count) * entry_bytes_;
  if (bytes == 0) return;
  if (gpu_ != nullptr) {
    CopyFromCuda(target, Entry(first), bytes);
  } else {
    std::memcpy(target, Entry(first), bytes);
  }
}

void CameraCache::WriteEntries(int64_t first, int64_t count, const std::byte* source) {
  CheckEntries(first, count);
  const size_t bytes = static_cast<size_t>(count) * entry_bytes_;
  if (bytes == 0) return;
  if (gpu_ != nullptr) {
    CopyToCuda(Entry(first), source, bytes);
  } else {
    std::memcpy(Entry(first), source, bytes);
  }
}

void CameraCache::Compact(std::span<const int64_t> dropped, int64_t entries) noexcept {
  if (gpu_ != nullptr) {
    CompactOnGpu(dropped, entries);
  } else {
    ForEachMove(dropped, entries, [&](int64_t from, int64_t to) {
      std::copy_n(Entry(from), entry_bytes_, Entry(to));
    });
  }
  const int64_t left = static_cast<int64_t>(dropped.size());
  Poison(entries - left, left);
}

void CameraCache::CompactOnGpu(std::span<const int64_t> dropped, int64_t entries) noexcept {
  const auto bytes = static_cast<int64_t>(entry_bytes_);
  std::vector<int64_t> from, to;
  ForEachMove(dropped, entries, [&](int64_t source, int64_t target) {
    from.push_back(source * bytes);
    to.push_back(target * bytes);
  });
  std::byte* const all = Entry(0);
  ops::MoveGpuRows(*gpu_, {&all, 1}, entry_bytes_, from, to);
}

void CameraCache::Poison(int64_t first, int64_t count) noexcept {
  const size_t bytes = static_cast<size_t>(count) * entry_bytes_;
  if (!poison_ || bytes == 0) return;
  // All ones is a NaN.
  if (gpu_ != nullptr) {
    ops::FillGpuBytes(*gpu_, Entry(first), 0xFF, bytes);
  } else {
    std::memset(Entry(first), 0xFF, bytes);
  }
}

}  // namespace lingbot
