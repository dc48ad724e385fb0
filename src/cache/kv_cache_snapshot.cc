#include <algorithm>

#include "base/check.h"
#include "cache/kv_cache.h"
#include "tensor/buffer.h"

namespace lingbot {

// Memory through which contents pass on their way between cache and file.
class KvCache::Staging {
 public:
  Staging(const KvCache& cache, size_t bytes)
      : buffer_(DType::kU8, {static_cast<int64_t>(bytes)},
                cache.gpu_ != nullptr ? MemoryKind::kPinned : MemoryKind::kPageable) {}
  explicit Staging(const KvCache& cache)
      : Staging(cache,
                std::max(static_cast<size_t>(cache.config_.page_size) * cache.store_.token_bytes(),
                         cache.camera_.entry_bytes())) {}

  std::byte* data() const { return static_cast<std::byte*>(buffer_.view().raw()); }

 private:
  Buffer buffer_;
};

// Calls visit(block, kv, first, count) for all tokens that are occupied: of every block K, then V;
// the patch pages in the order of attention, then the special tokens.
template <typename Visit>
void KvCache::ForEachTokenRun(const Visit& visit) const {
  std::vector<int32_t> pages;
  table_.VisiblePages(&pages);
  const int64_t specials = table_.entries() * config_.specials_per_frame;
  for (int block = 0; block < config_.blocks; ++block) {
    for (int kv = 0; kv < 2; ++kv) {
      for (const int32_t page : pages) {
        if (page < table_.patch_pages()) visit(block, kv, TokenPlace{page, 0}, config_.page_size);
      }
      for (int64_t i = 0; i < specials; i += config_.page_size) {
        visit(block, kv, table_.SpecialPlace(i), std::min(config_.page_size, specials - i));
      }
    }
  }
}

void KvCache::Save(ByteSink& sink) {
  table_.Save(sink);
  WriteValue<uint8_t>(sink, thinning_reported_ ? 1 : 0);
  if (gpu_ != nullptr) {
    ops::Activate(*gpu_);
    ops::Synchronize(*gpu_);
  }
  const Staging staging(*this);
  ForEachTokenRun([&](int block, int kv, TokenPlace first, int64_t count) {
    store_.ReadTokens(block, kv, first, count, staging.data());
    sink.Write(staging.data(), static_cast<size_t>(count) * store_.token_bytes());
  });
  for (int64_t entry = 0; entry < table_.entries(); ++entry) {
    camera_.ReadEntries(entry, 1, staging.data());
    sink.Write(staging.data(), camera_.entry_bytes());
  }
}

void KvCache::Load(ByteSource& source) {
  Check(!table_.open(), ErrorCode::kInternal, "a cache was loaded inside a step");
  PageTable table = table_;
  table.Load(source);
  const bool thinning_reported = ReadFlag(source, "whether thinning was reported");
  if (gpu_ != nullptr) ops::Activate(*gpu_);
  Reset();
  try {
    // Copies do not wait for the operators: neither a step nor poison may be under way.
    if (gpu_ != nullptr) ops::Synchronize(*gpu_);
    table_ = table;
    LoadContents(source);
  } catch (...) {
    Reset();
    throw;
  }
  thinning_reported_ = thinning_reported;
}

void KvCache::LoadContents(ByteSource& source) {
  ForEachTokenRun([&](int block, int kv, TokenPlace first, int64_t count) {
    if (block == 0 && kv == 0) store_.Provide(first, count);
  });
  camera_.Provide(0, table_.entries());
  const Staging staging(*this);
  ForEachTokenRun([&](int block, int kv, TokenPlace first, int64_t count) {
    source.Read(staging.data(), static_cast<size_t>(count) * store_.token_bytes());
    store_.WriteTokens(block, kv, first, count, staging.data());
  });
  for (int64_t entry = 0; entry < table_.entries(); ++entry) {
    source.Read(staging.data(), camera_.entry_bytes());
    camera_.WriteEntries(entry, 1, staging.data());
  }
}

}  // namespace lingbot
