#ifndef LINGBOT_OPS_CUDA_ATTENTION_PLAN_H_
#define LINGBOT_OPS_CUDA_ATTENTION_PLAN_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "ops/cuda/attention_layout.h"
#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Which multiprocessor computes what, as integers only: no CUDA in here, so all of it is tested on
// any machine. The kernels read these lists from device memory; a captured graph stays valid as
// long as Signature() does not change.

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

Fa2Layout MakeFa2Layout(int capacity, int requests, int max_rows);

// Two blocks fit on a multiprocessor; so many (query tile, chunk) pairs fill the device once.
int Fa2Capacity(int q_tokens, int heads, int multiprocessors);
// Rows [q_tokens, chunks] of partial results that the step may need.
int64_t Fa2PartRows(int q_tokens, int heads, int multiprocessors);
void FillFa2Paged(const Fa2Layout& layout, const PagedStep& step, int heads, int multiprocessors,
                  std::span<int32_t> data);
void FillFa2Frames(const Fa2Layout& layout, const FrameShape& shape, std::span<int32_t> data);

// ---- FlashInfer FA3: persistent blocks, each with its own list of work items ----

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
