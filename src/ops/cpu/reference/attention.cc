#include "ops/cpu/reference/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/state.h"

namespace lingbot::ops::reference {
namespace {

// Query rows that share one conversion of K and V to float32.
constexpr int64_t kRows = 16;
// Tokens whose weighted values are summed in float32 before they join the sum in double.
constexpr int64_t kChunk = 64;

struct Scratch {
  float* scores;     // [kRows, kv_tokens]
  float* converted;  // [kChunk, head_dim]
  double* sums;      // [kRows, head_dim]
};

// Eight interleaved sums, because the compiler may not reorder a single one into vector registers.
float Dot(const float* a, const float* b, int64_t count) {
  float sums[kHeadDimStep] = {};
  for (int64_t i = 0; i < count; i += kHeadDimStep) {
    for (int64_t j = 0; j < kHeadDimStep; ++j) sums[j] += a[i + j] * b[i + j];
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Calls body(tokens, first): `tokens` rows of the plane, converted, and the index of the first
// among all.
template <typename Body>
void ForEachChunk(const AttentionProblem& problem, const KvPlane& plane, int64_t head,
                  float* converted, Body&& body) {
  int64_t first = 0;
  for (int64_t run = 0; run < problem.runs(); ++run) {
    const int64_t run_tokens = problem.RunTokens(run);
    for (int64_t begin = 0; begin < run_tokens; begin += kChunk) {
      const int64_t tokens = std::min(kChunk, run_tokens - begin);
      CopyRows(plane, problem.Page(run), begin, tokens, head, problem.head_dim, converted);
      body(tokens, first);
      first += tokens;
    }
  }
}

// scores = q k^T / sqrt(head_dim)
void ComputeScores(const AttentionProblem& problem, int64_t head, int64_t first_row, int64_t rows,
                   const Scratch& scratch) {
  const int64_t kv_tokens = problem.kv_tokens();
  const float scale = 1.0f / std::sqrt(static_cast<float>(problem.head_dim));
  ForEachChunk(problem, problem.k, head, scratch.converted, [&](int64_t tokens, int64_t first) {
    for (int64_t row = 0; row < rows; ++row) {
      const float* query = problem.Query(first_row + row, head);
      float* scores = scratch.scores + row * kv_tokens + first;
      for (int64_t token = 0; token < tokens; ++token) {
        const float* key = scratch.converted + token * problem.head_dim;
        scores[token] = scale * Dot(query, key, problem.head_dim);
      }
    }
  });
}

// Replaces the scores by their exponentials and returns the sum of these.
double Exponentials(float* scores, int64_t count) {
  const float largest = *std::max_element(scores, scores + count);
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - largest);
    sum += scores[i];
  }
  return sum;
}

// sums += weights v
void AddValues(const AttentionProblem& problem, int64_t head, int64_t rows,
               const Scratch& scratch) {
  const int64_t kv_tokens = problem.kv_tokens();
  const int64_t head_dim = problem.head_dim;
  ForEachChunk(problem, problem.v, head, scratch.converted, [&](int64_t tokens, int64_t first) {
    for (int64_t row = 0; row < rows; ++row) {
      const float* weights = scratch.scores + row * kv_tokens + first;
      float part[kMaxHeadDim] = {};
      for (int64_t token = 0; token < tokens; ++token) {
        const float* value = scratch.converted + token * head_dim;
        for (int64_t c = 0; c < head_dim; ++c) part[c] += weights[token] * value[c];
      }
      for (int64_t c = 0; c < head_dim; ++c) scratch.sums[row * head_dim + c] += part[c];
    }
  });
}

void AttendRows(const AttentionProblem& problem, int64_t head, int64_t first_row, int64_t rows,
                const Scratch& scratch) {
  const int64_t kv_tokens = problem.kv_tokens();
  const int64_t head_dim = problem.head_dim;
  double weight_sums[kRows];
  ComputeScores(problem, head, first_row, rows, scratch);
  for (int64_t row = 0; row < rows; ++row) {
    weight_sums[row] = Exponentials(scratch.scores + row * kv_tokens, kv_tokens);
  }
  std::fill(scratch.sums, scratch.sums + rows * head_dim, 0.0);
  AddValues(problem, head, rows, scratch);
  for (int64_t row = 0; row < rows; ++row) {
    float* out = problem.Out(first_row + row, head);
    for (int64_t c = 0; c < head_dim; ++c) {
      out[c] = static_cast<float>(scratch.sums[row * head_dim + c] / weight_sums[row]);
    }
  }
}

}  // namespace

void Attention(Context& context, const AttentionProblem& problem) {
  context.cpu().last_attention = AttentionBackend::kReference;
  const Arena::Scope scope(context.arena());
  const int threads = context.team().size();
  const int64_t kv_tokens = problem.kv_tokens();
  float* scores = context.arena().Floats({threads, kRows, kv_tokens}).data<float>();
  float* converted = context.arena().Floats({threads, kChunk, problem.head_dim}).data<float>();
  double* sums =
      context.arena().Allocate(DType::kF64, {threads, kRows, problem.head_dim}).data<double>();
  const int64_t blocks = (problem.tokens + kRows - 1) / kRows;
  const int64_t items = problem.heads * blocks;
  context.team().ForEach(items, [&](int64_t item) {
    const int64_t slot = WorkerSlot(context.team(), items);
    const int64_t first_row = item % blocks * kRows;
    AttendRows(problem, item / blocks, first_row, std::min(kRows, problem.tokens - first_row),
               {scores + slot * kRows * kv_tokens, converted + slot * kChunk * problem.head_dim,
                sums + slot * kRows * problem.head_dim});
  });
}

size_t AttentionBytes(int threads, int64_t kv_tokens, int64_t head_dim) {
  return Arena::BytesFor(DType::kF32, threads * kRows * kv_tokens) +
         Arena::BytesFor(DType::kF32, threads * kChunk * head_dim) +
         Arena::BytesFor(DType::kF64, threads * kRows * head_dim);
}

}  // namespace lingbot::ops::reference
