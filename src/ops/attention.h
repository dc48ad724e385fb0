#ifndef LINGBOT_OPS_ATTENTION_H_
#define LINGBOT_OPS_ATTENTION_H_

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/option_names.h"
#include "ops/context.h"
#include "tensor/tensor_view.h"

namespace lingbot::ops {

// No bound is known of the scores of an attention.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// The K and V of one block that a frame may see, page by page. Element (page p, token t, head h,
// channel d) of K is k[pages[p] * page_stride + t * token_stride + h * head_stride + d], of V
// likewise; all strides count elements. Every page holds page_size tokens but the last, which holds
// last_page_len. What lies behind the last token may be anything, NaN included.
struct PagedKvView {
  const void* k = nullptr;
  const void* v = nullptr;
  DType dtype = DType::kF32;  // kF32 or kBF16
  int64_t page_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  int64_t page_size = 0;
  std::span<const int32_t> pages;
  int64_t last_page_len = 0;
  int block = 0;  // whose keys and values these are: names what PlanPagedAttention prepared

  int64_t tokens() const {
    return pages.empty() ? 0 : static_cast<int64_t>(pages.size() - 1) * page_size + last_page_len;
  }
};

// out = softmax(q k^T / sqrt(head_dim)) v per head, no mask. Softmax and accumulation in float32.
//   q    [tokens, heads, head_dim] float32, channels contiguous, other strides free
//   k, v [kv_tokens, heads, head_dim] float32 or bfloat16, channels contiguous, both the same dtype
//   out  [tokens, heads, head_dim] float32, channels contiguous; must not overlap q, k or v
// Throws kInternal on shapes that do not fit together, on no kv token at all and on a last_page_len
// outside [1, page_size].
void DenseAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const TensorView& k, const TensorView& v, const TensorView& out);

// What normalised queries are to be multiplied by for `backend` before they are rounded: 1, or a
// factor that takes the scaling of scores over from a kernel. Whoever calls NormRotate passes it on
// and tells the attention that queries are `prescaled`.
float QueryScale(const Context& context, AttentionBackend backend, int64_t head_dim);

// The same over the paged cache. On a GPU q and out are of the context's activation type, and the
// step has been prepared by PlanPagedAttention. `score_bound` is an upper bound of |q k| /
// sqrt(head_dim), or infinity: kernels use it to leave out the running maximum of the softmax.
// Queries are multiplied by QueryScale.
void PagedAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const PagedKvView& kv, float score_bound, const TensorView& out);

// DenseAttention inside each of `frames` frames of equal length: q, k, v, out [frames * tokens,
// heads, head_dim]. `prescaled` says whether queries are multiplied by QueryScale.
void FrameAttention(Context& context, AttentionBackend backend, int64_t frames, const TensorView& q,
                    const TensorView& k, const TensorView& v, float score_bound, bool prescaled,
                    const TensorView& out);

// Keys and values that grow by an entry per frame: [entries, heads, head_dim] float32 each.
struct EntryKv {
  TensorView k;
  TensorView v;
  // On a GPU: their number in this step, in its memory, and the most there can be.
  const int32_t* entries = nullptr;
  int64_t capacity = 0;
};

// Attention of a few rows over all entries, float32: q, out [rows, heads, head_dim].
void EntryAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const EntryKv& kv, const TensorView& out);

// Rows [begin, begin + count) of a block's K and V that hold visible tokens, row by row.
struct KvExtent {
  int64_t begin = 0;
  int64_t count = 0;
};

// The cache of all blocks as one step sees it.
struct PagedStep {
  PagedKvView view;  // of block 0
  int blocks = 0;
  int64_t block_stride = 0;  // elements from a block's K to the next one's
  int64_t queries = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  // The visible rows as contiguous extents, if the layout has them: at most two.
  std::array<KvExtent, 2> extents;
  int extent_count = 0;
  const int32_t* device_pages = nullptr;  // view.pages in a GPU's memory
};

// Most that the steps of a stream come to.
struct PagedLimits {
  int blocks = 0;
  int64_t queries = 0;
  int64_t tokens = 0;
  int64_t pages = 0;
  int64_t page_size = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};

// Step inputs that ReservePagedAttention takes.
size_t PagedAttentionInputBytes(const Setup& setup, const PagedLimits& limits);

// Sets aside what PlanPagedAttention will need; once per context. Nothing on the CPU.
void ReservePagedAttention(Context& context, AttentionBackend backend, const PagedLimits& limits);

// Prepares PagedAttention of all blocks for a step, before UploadStepInputs. Steps with the same
// result can be replayed from one recording. Nothing on the CPU.
uint64_t PlanPagedAttention(Context& context, AttentionBackend backend, const PagedStep& step);

// The back end that `wanted` stands for on the setup's device for heads of head_dim channels:
// itself, or the choice for kAuto.
// Throws kUnavailable if it cannot run there, naming those that can.
AttentionBackend ResolveAttentionBackend(AttentionBackend wanted, const Setup& setup = {},
                                         int64_t head_dim = 64);
// Most temporary bytes that an attention of `tokens` rows to `kv_tokens` others takes from the
// arena.
size_t AttentionWorkspaceBytes(const Setup& setup, int64_t tokens, int64_t kv_tokens, int64_t heads,
                               int64_t head_dim);
// Most temporary bytes that the call takes from the context's arena, on the CPU.
size_t AttentionWorkspaceBytes(AttentionBackend backend, int threads, int64_t tokens,
                               int64_t kv_tokens, int64_t heads, int64_t head_dim);

// Which implementation served the last call on this context, for the test that proves that the one
// asked for ran. Defined by the implementations themselves.
AttentionBackend LastAttentionBackend(Context& context);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ATTENTION_H_
