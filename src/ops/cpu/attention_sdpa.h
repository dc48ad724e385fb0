#ifndef LINGBOT_OPS_CPU_ATTENTION_SDPA_H_
#define LINGBOT_OPS_CPU_ATTENTION_SDPA_H_

#include "ops/context.h"
#include "ops/cpu/attention_problem.h"

namespace lingbot::ops {

// Back end `sdpa`: head by head, the visible tokens are gathered, then two dense products of the
// matrix library with a softmax between them.
void GatheredAttention(Context& context, const AttentionProblem& problem);

size_t GatheredAttentionBytes(int64_t tokens, int64_t kv_tokens, int64_t head_dim);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_ATTENTION_SDPA_H_
