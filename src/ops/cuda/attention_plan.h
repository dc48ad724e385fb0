#ifndef LINGBOT_OPS_CUDA_ATTENTION_PLAN_H_
#define LINGBOT_OPS_CUDA_ATTENTION_PLAN_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Which multiprocessor computes what, as integers only: no CUDA in here, so all of it is tested on
// any machine. The kernels read these lists from device memory; a captured graph stays valid as long
// as Signature() does not change.

inline int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// Throws kInternal unless the step is consistent in itself and within the limits.
void CheckStep(const PagedStep& step, const PagedLimits& limits);
// Throws kInternal on a shape that is empty or too large for 32-bit row arithmetic.
void CheckFrames(const FrameShape& shape);

// A contiguous share of the visible tokens: whole pages, but for the very last page.
struct KvSegment {
  int first_page = 0;
  int tokens = 0;
};

// `count` segments (1 .. pages) that differ by one page at most.
std::vector<KvSegment> CutPages(const PagedStep& step, int count);

// ---- FlashInfer FA2: a grid of (query tile, KV chunk) pairs for every head ----

inline constexpr int kFa2TileQ = 128;

// Positions, in int32, of the arrays within one block of device memory.
struct Fa2Layout {
  int capacity = 0;  // (query tile, chunk) pairs
  int requests = 0;
  int max_rows = 0;
  int request = 0, q_tile = 0, kv_tile = 0;                          // [capacity] each
  int o_indptr = 0, q_indptr = 0, kv_indptr = 0;                     // [requests + 1] each
  int last_page = 0;                                                 // [requests]
  int chunk_tokens = 0, total_rows = 0;                              // one each
  int merge_indptr = 0;                                              // [max_rows + 1]
  int valid = 0;                                                     // [capacity] bytes
  int pages = 0;                                                     // [requests]
  int size = 0;
};
Fa2Layout MakeFa2Layout(int capacity, int requests, int max_rows);

// Two blocks fit on a multiprocessor; so many (query tile, chunk) pairs fill the device once.
int Fa2Capacity(int q_tokens, int heads, int multiprocessors);
// Rows [q_tokens, chunks] of partial results that the step may need.
int64_t Fa2PartRows(int q_tokens, int heads, int multiprocessors);
void FillFa2Paged(const Fa2Layout& layout, const PagedStep& step, int heads, int multiprocessors,
                  std::span<int32_t> data);
void FillFa2Frames(const Fa2Layout& layout, const FrameShape& shape, std::span<int32_t> data);

// ---- FlashInfer FA3: persistent blocks, each with its own list of work items ----

struct Fa3Tile {
  int q = 0;
  int kv = 0;
  int stages = 2;  // tiles of K, and of V, in shared memory
};
// The tiles that are compiled; kv may not exceed 128 (the loader keeps one row offset per thread).
constexpr Fa3Tile Fa3TileFor(int head_dim) {
  return head_dim == 64 ? Fa3Tile{192, 96, 2} : Fa3Tile{128, 96, 2};
}

struct Fa3Layout {
  int blocks = 0;
  int capacity = 0;                // work items
  int segments = 0;                // one: how many parts the merge joins
  int block_begin = 0;             // [blocks + 1]
  int head = 0, q_tile = 0;        // [capacity] each
  int q_begin = 0, page_begin = 0; // [capacity] each
  int q_len = 0, kv_len = 0;       // [capacity] each
  int segment = 0;                 // [capacity]
  int pages = 0;                   // [pages_capacity]
  int size = 0;
};
Fa3Layout MakeFa3Layout(int blocks, int capacity, int pages_capacity);

// Upper bound of the segments that a step with so many query rows is cut into.
int Fa3MaxSegments(int q_tokens, int heads, Fa3Tile tile, int blocks);
// Upper bound of the work items of a step with up to so many query rows.
int Fa3Capacity(int q_tokens, int heads, Fa3Tile tile, int blocks);
// The number with the shortest makespan.
int Fa3ChooseSegments(const PagedStep& step, int heads, Fa3Tile tile, int blocks);
void FillFa3Paged(const Fa3Layout& layout, const PagedStep& step, int heads, Fa3Tile tile,
                  int segments, std::span<int32_t> data);
void FillFa3Frames(const Fa3Layout& layout, const FrameShape& shape, Fa3Tile tile,
                   std::span<int32_t> data);

// Never 0. Equal values for launches that differ in nothing but device memory.
uint64_t Signature(std::initializer_list<int64_t> values);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_PLAN_H_
