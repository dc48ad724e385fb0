#include "ops/cpu/attention_sdpa.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/cpu/state.h"

namespace lingbot::ops {
namespace {

// Bounds the score matrix to 64 MB by cutting the query rows into chunks, of at least one row.
constexpr int64_t kMaxScores = int64_t{16} << 20;

int64_t ChunkRows(int64_t tokens, int64_t kv_tokens) {
  return std::clamp<int64_t>(kMaxScores / kv_tokens, 1, std::max<int64_t>(tokens, 1));
}

// [kv_tokens, head_dim] of one head.
void Gather(const ThreadTeam& team, const AttentionProblem& problem, const KvPlane& plane,
            int64_t head, float* target) {
  team.ForRange(problem.runs(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      CopyRows(plane, problem.Page(run), 0, problem.RunTokens(run), head, problem.head_dim,
               target + run * problem.run_tokens * problem.head_dim);
    }
  });
}

void SoftmaxRow(float* scores, int64_t count) {
  const float largest = *std::max_element(scores, scores + count);
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - largest);
    sum += scores[i];
  }
  const float inverse = static_cast<float>(1.0 / sum);
  for (int64_t i = 0; i < count; ++i) scores[i] *= inverse;
}

// Rows of a matrix in the library's terms, which checks the distance even when there is no second
// row.
int64_t LeadingDimension(int64_t rows, int64_t columns, int64_t stride) {
  return rows == 1 ? columns : stride;
}

// Row-major c = scale * a b, or a b^T. The C entry point is the same in versions 2 and 3 of the
// library and takes any row stride, so that q and out need no copy.
void Multiply(bool transpose_b, int64_t m, int64_t n, int64_t k, float scale, const float* a,
              int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  const dnnl_status_t status =
      dnnl_sgemm('N', transpose_b ? 'T' : 'N', m, n, k, scale, a, lda, b, ldb, 0.0f, c, ldc);
  Check(status == dnnl_success, ErrorCode::kInternal,
        "attention: the matrix library failed with status {} on a product of {} x {} x {}",
        static_cast<int>(status), m, n, k);
}

}  // namespace

void GatheredAttention(Context& context, const AttentionProblem& problem) {
  context.cpu().last_attention = AttentionBackend::kSdpa;
  const ThreadTeam& team = context.team();
  const ThreadTeam::Scope threads(team);
  const Arena::Scope scope(context.arena());
  const int64_t kv_tokens = problem.kv_tokens();
  const int64_t dim = problem.head_dim;
  const int64_t chunk = ChunkRows(problem.tokens, kv_tokens);
  float* keys = context.arena().Floats({kv_tokens, dim}).data<float>();
  float* values = context.arena().Floats({kv_tokens, dim}).data<float>();
  float* scores = context.arena().Floats({chunk, kv_tokens}).data<float>();
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  for (int64_t head = 0; head < problem.heads; ++head) {
    Gather(team, problem, problem.k, head, keys);
    Gather(team, problem, problem.v, head, values);
    for (int64_t row = 0; row < problem.tokens; row += chunk) {
      const int64_t rows = std::min(chunk, problem.tokens - row);
      Multiply(true, rows, kv_tokens, dim, scale, problem.Query(row, head),
               LeadingDimension(rows, dim, problem.q_token_stride), keys, dim, scores, kv_tokens);
      team.ForEach(rows, [&](int64_t i) { SoftmaxRow(scores + i * kv_tokens, kv_tokens); });
      Multiply(false, rows, dim, kv_tokens, 1.0f, scores, kv_tokens, values, dim,
               problem.Out(row, head), LeadingDimension(rows, dim, problem.out_token_stride));
    }
  }
}

size_t GatheredAttentionBytes(int64_t tokens, int64_t kv_tokens, int64_t head_dim) {
  return 2 * Arena::BytesFor(DType::kF32, kv_tokens * head_dim) +
         Arena::BytesFor(DType::kF32, ChunkRows(tokens, kv_tokens) * kv_tokens);
}

}  // namespace lingbot::ops
