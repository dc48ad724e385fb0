#include "cache/page_store.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "cache/checked_size.h"

namespace lingbot {
namespace {

// All ones is a NaN in float32 and in bfloat16.
constexpr int kPoisonByte = 0xFF;

// Fewer bytes than this are not worth waking a thread for.
constexpr int64_t kBytesPerThread = 64 * 1024;

void CheckConfig(const PageStoreConfig& config) {
  CheckPositive("blocks", config.blocks);
  CheckPositive("pages", config.pages);
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

void CheckInput(const char* name, const TensorView& input, const PageStoreConfig& config) {
  Check(input.raw() != nullptr && input.device() == Device::kCpu && input.dtype() == DType::kF32 &&
            input.rank() == 3 && input.dim(1) == config.heads && input.dim(2) == config.head_dim &&
            (config.head_dim == 1 || input.stride(2) == 1),
        ErrorCode::kInternal,
        "the cache was given {} of shape {}, strides {}, {}; expected float32 [tokens, {}, {}] on "
        "the CPU with contiguous channels",
        name, input.shape(), input.strides(), NameOf(input.dtype()), config.heads, config.head_dim);
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

void Convert(const float* source, int64_t count, float* target) {
  std::memcpy(target, source, static_cast<size_t>(count) * sizeof(float));
}

void Convert(const float* source, int64_t count, BFloat16* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = ToBFloat16(source[i]);
}

// One token: [heads, head_dim] with a free stride between heads -> contiguous.
template <typename T>
void ConvertToken(const float* source, int64_t head_stride, int64_t heads, int64_t head_dim,
                  T* target) {
  if (head_stride == head_dim) {
    Convert(source, heads * head_dim, target);
    return;
  }
  for (int64_t head = 0; head < heads; ++head) {
    Convert(source + head * head_stride, head_dim, target + head * head_dim);
  }
}

}  // namespace

uint64_t PageStore::PageBytes(const PageStoreConfig& config) {
  CheckConfig(config);
  return CheckedProduct("a page", {2, config.page_size, config.heads, config.head_dim,
                                   static_cast<int64_t>(SizeOf(config.dtype))});
}

PageStore::PageStore(const PageStoreConfig& config) : config_(config), memory_(TotalBytes(config)) {
  const size_t page_bytes = PageBytes(config);
  token_bytes_ = page_bytes / 2 / static_cast<size_t>(config.page_size);
  block_stride_ = page_bytes * static_cast<size_t>(config.pages);
  const bool planes = config.layout == KvLayout::kPlanes;
  page_stride_ = planes ? page_bytes / 2 : page_bytes;
  kv_stride_ = planes ? block_stride_ / 2 : page_bytes / 2;
  PoisonAll();
}

std::byte* PageStore::Token(int block, int kv, TokenPlace place) const {
  return memory_.data() + static_cast<size_t>(block) * block_stride_ +
         static_cast<size_t>(kv) * kv_stride_ + static_cast<size_t>(place.page) * page_stride_ +
         static_cast<size_t>(place.token) * token_bytes_;
}

void PageStore::WriteRows(int block, int kv, const TensorView& source,
                          std::span<const TokenRun> runs, int64_t begin, int64_t end) const {
  for (const TokenRun& run : runs) {
    const int64_t first = std::max(begin, run.row);
    const int64_t last = std::min(end, run.row + run.count);
    for (int64_t row = first; row < last; ++row) {
      const float* from = source.data<float>() + row * source.stride(0);
      std::byte* to = Token(block, kv, {run.place.page, run.place.token + row - run.row});
      if (config_.dtype == DType::kF32) {
        ConvertToken(from, source.stride(1), config_.heads, config_.head_dim,
                     reinterpret_cast<float*>(to));
      } else {
        ConvertToken(from, source.stride(1), config_.heads, config_.head_dim,
                     reinterpret_cast<BFloat16*>(to));
      }
    }
  }
}

void PageStore::Write(const ThreadTeam& team, int block, const TensorView& k, const TensorView& v,
                      std::span<const TokenRun> runs) {
  Check(block >= 0 && block < config_.blocks, ErrorCode::kInternal,
        "block {} of a cache of {} blocks", block, config_.blocks);
  CheckInput("K", k, config_);
  CheckInput("V", v, config_);
  CheckRuns(runs, k.dim(0), config_);
  CheckRuns(runs, v.dim(0), config_);
  const int64_t grain = kBytesPerThread / static_cast<int64_t>(2 * token_bytes_) + 1;
  team.ForRange(k.dim(0), grain, [&](int64_t begin, int64_t end) {
    WriteRows(block, 0, k, runs, begin, end);
    WriteRows(block, 1, v, runs, begin, end);
  });
}

void PageStore::CopyToken(int block, TokenPlace from, TokenPlace to) noexcept {
  for (int kv = 0; kv < 2; ++kv) {
    std::memcpy(Token(block, kv, to), Token(block, kv, from), token_bytes_);
  }
}

void PageStore::Poison(TokenPlace first, int64_t count) noexcept {
  if (!config_.poison) return;
  for (int block = 0; block < config_.blocks; ++block) {
    for (int kv = 0; kv < 2; ++kv) {
      std::memset(Token(block, kv, first), kPoisonByte, static_cast<size_t>(count) * token_bytes_);
    }
  }
}

void PageStore::PoisonAll() noexcept {
  if (config_.poison) std::memset(memory_.data(), kPoisonByte, memory_.size());
}

ops::PagedKvView PageStore::View(int block) const {
  Check(block >= 0 && block < config_.blocks, ErrorCode::kInternal,
        "block {} of a cache of {} blocks", block, config_.blocks);
  ops::PagedKvView view;
  view.k = Token(block, 0, {});
  view.v = Token(block, 1, {});
  view.dtype = config_.dtype;
  view.page_stride = static_cast<int64_t>(page_stride_ / SizeOf(config_.dtype));
  view.token_stride = config_.heads * config_.head_dim;
  view.head_stride = config_.head_dim;
  view.page_size = config_.page_size;
  return view;
}

}  // namespace lingbot
