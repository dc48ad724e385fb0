#ifndef LINGBOT_OPS_CPU_REFERENCE_ATTENTION_H_
#define LINGBOT_OPS_CPU_REFERENCE_ATTENTION_H_

#include "ops/context.h"
#include "ops/cpu/attention_problem.h"

namespace lingbot::ops::reference {

// Back end `reference`: the definition as plain loops over the page table, in two passes over the
// scores of a row. Products in float32; sums over a few dozen terms in float32, over more in
// double.
void Attention(Context& context, const AttentionProblem& problem);

size_t AttentionBytes(int threads, int64_t kv_tokens, int64_t head_dim);

}  // namespace lingbot::ops::reference

#endif  // LINGBOT_OPS_CPU_REFERENCE_ATTENTION_H_
