#ifndef LINGBOT_OPS_CPU_ATTENTION_PROBLEM_H_
#define LINGBOT_OPS_CPU_ATTENTION_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/thread_team.h"

namespace lingbot::ops {

// The largest head that the implementations are written for, and the granule of its size.
inline constexpr int64_t kMaxHeadDim = 256;
inline constexpr int64_t kHeadDimStep = 8;

// K or V of all visible tokens, seen as runs: stretches of tokens at one token stride. A dense
// tensor is one run, a page is one run. Strides count elements.
struct KvPlane {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;  // kF32 or kBF16
  int64_t run_stride = 0;     // between pages
  int64_t token_stride = 0;
  int64_t head_stride = 0;

  // Channel 0 of a token in the memory of page `page`.
  const std::byte* At(int64_t page, int64_t token, int64_t head) const {
    const int64_t element = page * run_stride + token * token_stride + head * head_stride;
    return data + element * static_cast<int64_t>(SizeOf(dtype));
  }
};

// What every implementation computes from, with its shapes already checked.
struct AttentionProblem {
  const float* q = nullptr;  // [tokens, heads, head_dim]
  int64_t q_token_stride = 0;
  int64_t q_head_stride = 0;
  float* out = nullptr;  // [tokens, heads, head_dim]
  int64_t out_token_stride = 0;
  int64_t out_head_stride = 0;
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;

  KvPlane k;
  KvPlane v;
  std::span<const int32_t> pages;  // empty: one run, page 0
  int64_t run_tokens = 0;          // of every run but the last
  int64_t last_run_tokens = 0;

  int64_t runs() const { return pages.empty() ? 1 : static_cast<int64_t>(pages.size()); }
  int64_t Page(int64_t run) const { return pages.empty() ? 0 : pages[run]; }
  int64_t RunTokens(int64_t run) const { return run + 1 < runs() ? run_tokens : last_run_tokens; }
  int64_t kv_tokens() const { return (runs() - 1) * run_tokens + last_run_tokens; }
  const float* Query(int64_t token, int64_t head) const {
    return q + token * q_token_stride + head * q_head_stride;
  }
  float* Out(int64_t token, int64_t head) const {
    return out + token * out_token_stride + head * out_head_stride;
  }
};

// `tokens` rows of `head_dim` channels from one page, one after another, as float32. [tokens,
// head_dim]
void CopyRows(const KvPlane& plane, int64_t page, int64_t first_token, int64_t tokens, int64_t head,
              int64_t head_dim, float* target);

// Which slice of the temporary memory belongs to the calling thread inside team.ForEach(items,
// ...). A loop that the team runs without starting threads may itself be inside somebody else's,
// whose index does not count here.
inline int64_t WorkerSlot(const ThreadTeam& team, int64_t items) {
  return team.size() == 1 || items == 1 ? 0 : ThreadTeam::Index();
}

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_ATTENTION_PROBLEM_H_
