#include "cache/page_store.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "cache/checked_size.h"
#include "ops/gpu_memory.h"

namespace lingbot {
namespace {

// All ones is a NaN in float32 and in bfloat16.
constexpr int kPoisonByte = 0xFF;

void CheckConfig(const PageStoreConfig& config) {
  CheckPositive("blocks", config.blocks);
  CheckPositive("pages", config.pages);
  Check(config.patch_pages >= 0 && config.patch_pages <= config.pages, ErrorCode::kInvalidArgument,
        "{} of the cache's {} pages are patch pages", config.patch_pages, config.pages);
  CheckPositive("page_size", config.page_size);
  CheckPositive("heads", config.heads);
  CheckPositive("head_dim", config.head_dim);
  Check(config.dtype == DType::kF32 || config.dtype == DType::kBF16, ErrorCode::kInvalidArgument,
        "the cache stores float32 or bfloat16, not {}", NameOf(config.dtype));
}

uint64_t TotalBytes(const PageStoreConfig& config) {
  return CheckedProduct("the key-value cache", {static_cast<int64_t>(PageStore::PageBytes(config)),
                                                config.pages, config.blocks});
}

void CheckRuns(std::span<const TokenRun> runs, int64_t rows, const PageStoreConfig& config) {
  int64_t next = 0;
  for (const TokenRun& run : runs) {
    Check(
        run.row == next && run.count >= 1 && run.place.page >= 0 && run.place.page < config.pages &&
            run.place.token >= 0 && run.count <= config.page_size - run.place.token,
        ErrorCode::kInternal,
        "rows from {} of the cache's input go to {} tokens from token {} of page {}; the store has "
        "{} pages of {} tokens, and row {} comes next",
        run.row, run.count, run.place.token, run.place.page, config.pages, config.page_size, next);
    next += run.count;
  }
  Check(next == rows, ErrorCode::kInternal, "the cache was given {} tokens; expected {}", rows,
        next);
}

void ReverseTokens(std::byte* tokens, size_t count, size_t token_bytes) {
  for (size_t i = 0; i < count / 2; ++i) {
    std::swap_ranges(tokens + i * token_bytes, tokens + (i + 1) * token_bytes,
                     tokens + (count - 1 - i) * token_bytes);
  }
}

}  // namespace

uint64_t PageStore::PageBytes(const PageStoreConfig& config) {
  CheckConfig(config);
  return CheckedProduct("a page", {2, config.page_size, config.heads, config.head_dim,
                                   static_cast<int64_t>(SizeOf(config.dtype))});
}

PageStore::PageStore(const PageStoreConfig& config, ops::Context* gpu)
    : config_(config), gpu_(gpu), total_bytes_(TotalBytes(config)) {
  if (gpu_ != nullptr && config.granule == 0) config_.granule = CudaLazyMemory::Granule();
  const size_t page_bytes = PageBytes(config);
  element_bytes_ = SizeOf(config.dtype);
  token_bytes_ = page_bytes / 2 / static_cast<size_t>(config.page_size);
  block_stride_ = page_bytes * static_cast<size_t>(config.pages);
  page_stride_ = planes() ? page_bytes / 2 : page_bytes;
  kv_stride_ = planes() ? block_stride_ / 2 : page_bytes / 2;
  if (planes()) LayPlanes();
  if (gpu_ != nullptr) {
    gpu_memory_ = CudaLazyMemory(total_bytes_);
    if (config.poison) gpu_memory_.Map(0, total_bytes_);
  } else {
    memory_ = LazyMemory(total_bytes_);
  }
  PoisonAll();
}

void PageStore::LayPlanes() {
  const int64_t patch_rows = config_.patch_pages * config_.page_size;
  special_rows_ = (config_.pages - config_.patch_pages) * config_.page_size;
  const auto granule_rows = static_cast<int64_t>(config_.granule / token_bytes_);
  int64_t rows = special_rows_ + patch_rows;
  if (granule_rows > 1 && config_.granule % token_bytes_ == 0) {
    // Rows that are never used cost addresses only.
    const auto round_up = [&](int64_t count) {
      return (count + granule_rows - 1) / granule_rows * granule_rows;
    };
    const int64_t expected = std::min(config_.expected_specials, special_rows_);
    special_rows_ = round_up(special_rows_ - expected) + expected;
    rows = round_up(special_rows_ + patch_rows);
  }
  Check(rows <= std::numeric_limits<int32_t>::max(), ErrorCode::kInvalidArgument,
        "the cache would need {} pages of {} tokens, more rows than 32 bits can number; lower "
        "sliding_window or trajectory_frames",
        config_.pages, config_.page_size);
  kv_stride_ = static_cast<size_t>(rows) * token_bytes_;
  block_stride_ = 2 * kv_stride_;
  total_bytes_ =
      CheckedProduct("the key-value cache", {static_cast<int64_t>(block_stride_), config_.blocks});
}

size_t PageStore::Offset(int kv, TokenPlace place) const {
  const size_t of_kv = static_cast<size_t>(kv) * kv_stride_;
  if (!planes()) {
    return of_kv + static_cast<size_t>(place.page) * page_stride_ +
           static_cast<size_t>(place.token) * token_bytes_;
  }
  const int64_t special = (place.page - config_.patch_pages) * config_.page_size + place.token;
  const int64_t row = special >= 0 ? special_rows_ - 1 - special
                                   : special_rows_ + place.page * config_.page_size + place.token;
  return of_kv + static_cast<size_t>(row) * token_bytes_;
}

template <typename Body>
void PageStore::ForEachPart(TokenPlace first, int64_t count, Body&& body) const {
  if (count == 0) return;
  const TokenPlace lowest =
      Downwards(first.page) ? TokenPlace{first.page, first.token + count - 1} : first;
  for (int block = 0; block < config_.blocks; ++block) {
    for (int kv = 0; kv < 2; ++kv) {
      body(static_cast<size_t>(block) * block_stride_ + Offset(kv, lowest),
           static_cast<size_t>(count) * token_bytes_);
    }
  }
}

void PageStore::Provide(TokenPlace first, int64_t count) {
  if (gpu_ == nullptr) return;
  ForEachPart(first, count, [&](size_t offset, size_t bytes) { gpu_memory_.Map(offset, bytes); });
}

void PageStore::FillOffsets(std::span<const TokenRun> runs, std::span<int64_t> offsets) const {
  CheckRuns(runs, static_cast<int64_t>(offsets.size()), config_);
  for (const TokenRun& run : runs) {
    for (int64_t i = 0; i < run.count; ++i) {
      const size_t offset = Offset(0, {run.place.page, run.place.token + i});
      offsets[run.row + i] = static_cast<int64_t>(offset / element_bytes_);
    }
  }
}

ops::KvDestination PageStore::Destination(int block, const int64_t* offsets, int64_t rows) const {
  const ops::PagedKvView view = View(block);
  return {.k = const_cast<void*>(view.k),
          .v = const_cast<void*>(view.v),
          .dtype = config_.dtype,
          .device = gpu_ != nullptr ? Device::kCuda : Device::kCpu,
          .offsets = offsets,
          .rows = rows,
          .heads = config_.heads,
          .head_dim = config_.head_dim};
}

void PageStore::MoveTokens(std::span<const TokenPlace> from,
                           std::span<const TokenPlace> to) noexcept {
  if (gpu_ != nullptr) return MoveOnGpu(from, to);
  for (int block = 0; block < config_.blocks; ++block) {
    std::byte* base = data() + static_cast<size_t>(block) * block_stride_;
    for (size_t i = 0; i < from.size(); ++i) {
      for (int kv = 0; kv < 2; ++kv) {
        std::memcpy(base + Offset(kv, to[i]), base + Offset(kv, from[i]), token_bytes_);
      }
    }
  }
}

std::byte* PageStore::LowestToken(int block, int kv, TokenPlace first, int64_t count) const {
  Check(block >= 0 && block < config_.blocks && first.page >= 0 && first.page < config_.pages &&
            first.token >= 0 && count >= 1 && count <= config_.page_size - first.token,
        ErrorCode::kInternal,
        "{} tokens from token {} of page {}, block {}, of a store of {} pages", count, first.token,
        first.page, block, config_.pages);
  const TokenPlace lowest =
      Downwards(first.page) ? TokenPlace{first.page, first.token + count - 1} : first;
  return data() + static_cast<size_t>(block) * block_stride_ + Offset(kv, lowest);
}

void PageStore::ReadTokens(int block, int kv, TokenPlace first, int64_t count,
                           std::byte* target) const {
  const std::byte* source = LowestToken(block, kv, first, count);
  const size_t bytes = static_cast<size_t>(count) * token_bytes_;
  if (gpu_ != nullptr) {
    CopyFromCuda(target, source, bytes);
  } else {
    std::memcpy(target, source, bytes);
  }
  if (Downwards(first.page)) ReverseTokens(target, static_cast<size_t>(count), token_bytes_);
}

void PageStore::WriteTokens(int block, int kv, TokenPlace first, int64_t count, std::byte* source) {
  std::byte* target = LowestToken(block, kv, first, count);
  const size_t bytes = static_cast<size_t>(count) * token_bytes_;
  if (Downwards(first.page)) ReverseTokens(source, static_cast<size_t>(count), token_bytes_);
  if (gpu_ != nullptr) {
    CopyToCuda(target, source, bytes);
  } else {
    std::memcpy(target, source, bytes);
  }
}

void PageStore::MoveOnGpu(std::span<const TokenPlace> from,
                          std::span<const TokenPlace> to) noexcept {
  std::vector<std::byte*> planes;
  for (int block = 0; block < config_.blocks; ++block) {
    for (int kv = 0; kv < 2; ++kv) {
      planes.push_back(data() + static_cast<size_t>(block) * block_stride_ +
                       static_cast<size_t>(kv) * kv_stride_);
    }
  }
  std::vector<int64_t> from_bytes, to_bytes;
  for (size_t i = 0; i < from.size(); ++i) {
    from_bytes.push_back(static_cast<int64_t>(Offset(0, from[i])));
    to_bytes.push_back(static_cast<int64_t>(Offset(0, to[i])));
  }
  ops::MoveGpuRows(*gpu_, planes, token_bytes_, from_bytes, to_bytes);
}

void PageStore::Fill(size_t offset, size_t bytes) noexcept {
  if (gpu_ != nullptr) {
    ops::FillGpuBytes(*gpu_, data() + offset, kPoisonByte, bytes);
  } else {
    std::memset(data() + offset, kPoisonByte, bytes);
  }
}

void PageStore::Poison(TokenPlace first, int64_t count) noexcept {
  if (!config_.poison) return;
  ForEachPart(first, count, [&](size_t offset, size_t bytes) { Fill(offset, bytes); });
}

void PageStore::PoisonAll() noexcept {
  if (config_.poison) Fill(0, total_bytes_);
}

ops::PagedKvView PageStore::View(int block) const {
  Check(block >= 0 && block < config_.blocks, ErrorCode::kInternal,
        "block {} of a cache of {} blocks", block, config_.blocks);
  std::byte* base = data() + static_cast<size_t>(block) * block_stride_;
  ops::PagedKvView view;
  view.k = base;
  view.v = base + kv_stride_;
  view.dtype = config_.dtype;
  view.token_stride = config_.heads * config_.head_dim;
  // In planes pages are named by their first rows: a page may start anywhere.
  view.page_stride =
      planes() ? view.token_stride : static_cast<int64_t>(page_stride_ / element_bytes_);
  view.head_stride = config_.head_dim;
  view.page_size = config_.page_size;
  view.block = block;
  return view;
}

int32_t PageStore::ViewPage(int32_t patch_page) const {
  if (!planes()) return patch_page;
  return static_cast<int32_t>(special_rows_ + patch_page * config_.page_size);
}

int32_t PageStore::ViewSpecialPage(int64_t i, int64_t special_tokens) const {
  if (!planes()) return static_cast<int32_t>(config_.patch_pages + i);
  return static_cast<int32_t>(special_rows_ - special_tokens + i * config_.page_size);
}

}  // namespace lingbot
