#ifndef LINGBOT_OPS_ATTENTION_H_
#define LINGBOT_OPS_ATTENTION_H_

#include <cstdint>
#include <span>

#include "lingbot/options.h"
#include "ops/context.h"
#include "tensor/tensor_view.h"

namespace lingbot::ops {

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

// The same over the paged cache.
void PagedAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const PagedKvView& kv, const TensorView& out);

// The back end that `wanted` stands for on this device: itself, or the choice for kAuto.
AttentionBackend ResolveAttentionBackend(AttentionBackend wanted);
const char* NameOf(AttentionBackend backend);  // "auto", "reference", "cpu", "sdpa"

// Most temporary bytes that the call takes from the context's arena.
size_t AttentionWorkspaceBytes(AttentionBackend backend, int threads, int64_t tokens,
                               int64_t kv_tokens, int64_t heads, int64_t head_dim);

// Which implementation served the last call on this context, for the test that proves that the one
// asked for ran. Defined by the implementations themselves.
AttentionBackend LastAttentionBackend(Context& context);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ATTENTION_H_
