#ifndef LINGBOT_OPS_CPU_ATTENTION_TILED_H_
#define LINGBOT_OPS_CPU_ATTENTION_TILED_H_

#include "ops/context.h"
#include "ops/cpu/attention_problem.h"

namespace lingbot::ops {

// Back end `cpu`: online softmax (Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022)
// over tiles of tokens that are read where they lie. Every query row is computed by the same
// operations in the same order whatever the number of threads and the rows beside it, so results do
// not depend on the thread count.
void TiledAttention(Context& context, const AttentionProblem& problem);

size_t TiledAttentionBytes(int threads, int64_t tokens, int64_t heads, int64_t head_dim);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_ATTENTION_TILED_H_
