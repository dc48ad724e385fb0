#ifndef LINGBOT_CACHE_PAGE_STORE_H_
#define LINGBOT_CACHE_PAGE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/system_memory.h"
#include "base/thread_team.h"
#include "cache/page_table.h"
#include "lingbot/options.h"
#include "ops/attention.h"
#include "tensor/tensor_view.h"

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
};

// `count` consecutive rows of the input that go to consecutive tokens of one page.
struct TokenRun {
  int64_t row = 0;
  TokenPlace place;
  int64_t count = 0;
};

// The memory behind the page ids: K and V of all blocks. Per block it is
//   kPlanes       [2, pages, page_size, heads, head_dim]
//   kInterleaved  [pages, 2, page_size, heads, head_dim]
// with index 0 = K, 1 = V. Address space for all of it is reserved at once; memory is spent when a
// page is first written. With `poison`, everything that holds no token is NaN (and so all memory is
// spent at once).
class PageStore {
 public:
  // Throws kInvalidArgument on sizes below 1, too large for 64 bits, or another dtype; kOutOfMemory
  // if the address space cannot be had.
  explicit PageStore(const PageStoreConfig& config);

  // Bytes of one page of one block, K and V.
  static uint64_t PageBytes(const PageStoreConfig& config);

  // Copies rows of k and v into `block`, converting (to bfloat16: nearest, ties to even).
  //   k, v [rows, heads, head_dim] float32, channels contiguous, other strides free
  //   runs cover rows 0 .. rows-1 in order, each row once
  // Throws kInternal if shapes, types or runs do not fit.
  void Write(const ThreadTeam& team, int block, const TensorView& k, const TensorView& v,
             std::span<const TokenRun> runs);

  // Copies one token, K and V, within `block`.
  void CopyToken(int block, TokenPlace from, TokenPlace to) noexcept;

  // In poison mode fills `count` tokens of a page with NaN in every block; otherwise does nothing.
  void Poison(TokenPlace first, int64_t count) noexcept;
  void PoisonAll() noexcept;

  // Pointers and strides of `block`; pages and last_page_len are left for the caller.
  ops::PagedKvView View(int block) const;

  // All memory, for comparison in tests.
  std::span<const std::byte> bytes() const { return {memory_.data(), memory_.size()}; }

 private:
  std::byte* Token(int block, int kv, TokenPlace place) const;
  void WriteRows(int block, int kv, const TensorView& source, std::span<const TokenRun> runs,
                 int64_t begin, int64_t end) const;

  PageStoreConfig config_;
  // Strides in bytes.
  size_t token_bytes_ = 0;
  size_t page_stride_ = 0;
  size_t kv_stride_ = 0;
  size_t block_stride_ = 0;
  LazyMemory memory_;
};

}  // namespace lingbot

#endif  // LINGBOT_CACHE_PAGE_STORE_H_
