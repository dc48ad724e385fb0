#ifndef LINGBOT_CACHE_PAGE_STORE_H_
#define LINGBOT_CACHE_PAGE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/system_memory.h"
#include "cache/page_table.h"
#include "lingbot/options.h"
#include "ops/attention.h"
#include "ops/kv_store.h"
#include "tensor/device_memory.h"

namespace lingbot {

struct PageStoreConfig {
  int blocks = 0;
  int64_t pages = 0;  // of every block
  int64_t page_size = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  DType dtype = DType::kF32;  // kF32 or kBF16
  KvLayout layout = KvLayout::kPlanes;
  bool poison = false;
  int64_t patch_pages = 0;  // of `pages`; the special pages come after them
  // Memory comes in pieces of so many bytes; 0 = of no matter (CPU) or as the GPU has them.
  size_t granule = 0;
  int64_t expected_specials = 0;  // special tokens that will come; 0 = unknown
};

// `count` consecutive rows of the input that go to consecutive tokens of one page.
struct TokenRun {
  int64_t row = 0;
  TokenPlace place;
  int64_t count = 0;
};

// The memory behind the page ids: K and V of all blocks, on the CPU or on the context's GPU. Per
// block it is
//   kPlanes       [2, specials + patch_pages * page_size, heads, head_dim]
//   kInterleaved  [pages, 2, page_size, heads, head_dim]
// with index 0 = K, 1 = V. In planes the special tokens lie in front of the patch pages and grow
// downwards, token i in row specials - 1 - i: special tokens and the first patch pages are one
// contiguous range of rows, which dense kernels take as it is. Where memory comes in granules, the
// expected special tokens and the patch pages begin with one. Addresses for all of it are reserved
// at once; memory is spent when a page is first used. With `poison`, everything that holds no token
// is NaN (and so all memory is spent at once).
class PageStore {
 public:
  // Throws kInvalidArgument on sizes below 1, too large for 64 bits, or another dtype; kOutOfMemory
  // if the address space cannot be had. `gpu` is null for memory on the CPU.
  explicit PageStore(const PageStoreConfig& config, ops::Context* gpu = nullptr);

  // Bytes of one page of one block, K and V.
  static uint64_t PageBytes(const PageStoreConfig& config);

  // Makes `count` tokens of a page usable in every block. Throws kOutOfMemory.
  void Provide(TokenPlace first, int64_t count);
  // Where the rows of a step go: offsets[row], relative to the K and to the V of any block. Throws
  // kInternal unless the runs cover offsets.size() rows in order, each once, inside their pages.
  void FillOffsets(std::span<const TokenRun> runs, std::span<int64_t> offsets) const;
  // `offsets` are in memory of the store's device.
  ops::KvDestination Destination(int block, const int64_t* offsets, int64_t rows) const;

  // Token `to[i]` takes what `from[i]` held, K and V, in every block. Ascending, to[i] < from[i],
  // in the order of the special stream.
  void MoveTokens(std::span<const TokenPlace> from, std::span<const TokenPlace> to) noexcept;

  // Copies the K (kv 0) or the V (1) of `count` tokens of one page of a block to or from host
  // memory, in the order of the stream whatever the layout: [count, heads, head_dim]. WriteTokens
  // reorders `source` in place. On a GPU, not in order with a context's operators.
  void ReadTokens(int block, int kv, TokenPlace first, int64_t count, std::byte* target) const;
  void WriteTokens(int block, int kv, TokenPlace first, int64_t count, std::byte* source);
  size_t token_bytes() const { return token_bytes_; }  // of K or V

  // In poison mode fills `count` tokens of a page with NaN in every block; otherwise does nothing.
  void Poison(TokenPlace first, int64_t count) noexcept;
  void PoisonAll() noexcept;

  // Pointers and strides of `block`; pages and last_page_len are left for the caller.
  ops::PagedKvView View(int block) const;
  // The number by which the views' page lists name a patch page, and the i-th of the pages that
  // hold `special_tokens` special tokens.
  int32_t ViewPage(int32_t patch_page) const;
  int32_t ViewSpecialPage(int64_t i, int64_t special_tokens) const;
  // Elements from a block's K to the next block's.
  int64_t block_stride() const { return static_cast<int64_t>(block_stride_ / element_bytes_); }
  // Rows in front of patch page 0 (planes).
  int64_t special_rows() const { return special_rows_; }

  // All memory, for comparison in tests; on the CPU only.
  std::span<const std::byte> bytes() const { return {memory_.data(), memory_.size()}; }

 private:
  void LayPlanes();
  bool planes() const { return config_.layout == KvLayout::kPlanes; }
  size_t Offset(int kv, TokenPlace place) const;  // bytes from the start of a block
  // Special tokens in planes go downwards: the last one has the lowest address.
  bool Downwards(int32_t page) const { return planes() && page >= config_.patch_pages; }
  std::byte* LowestToken(int block, int kv, TokenPlace first, int64_t count) const;
  std::byte* data() const { return gpu_ != nullptr ? gpu_memory_.data() : memory_.data(); }
  // Calls body(offset, bytes) for the contiguous parts of `count` tokens in every block.
  template <typename Body>
  void ForEachPart(TokenPlace first, int64_t count, Body&& body) const;
  void MoveOnGpu(std::span<const TokenPlace> from, std::span<const TokenPlace> to) noexcept;
  void Fill(size_t offset, size_t bytes) noexcept;

  PageStoreConfig config_;
  ops::Context* gpu_;
  int64_t special_rows_ = 0;
  // In bytes.
  size_t element_bytes_ = 0;
  size_t token_bytes_ = 0;
  size_t page_stride_ = 0;
  size_t kv_stride_ = 0;
  size_t block_stride_ = 0;
  size_t total_bytes_ = 0;
  LazyMemory memory_;
  CudaLazyMemory gpu_memory_;
};

}  // namespace lingbot

#endif  // LINGBOT_CACHE_PAGE_STORE_H_
