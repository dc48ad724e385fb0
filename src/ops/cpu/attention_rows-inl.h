// Attention of a few query rows, as of the one token a frame that the camera head has: the vectors
// run along the channels and K and V are read where they lie, because nothing is used often enough
// to be worth rearranging. Included once for each vector instruction set, hence no ordinary guard.
#if defined(LINGBOT_OPS_CPU_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LINGBOT_OPS_CPU_ATTENTION_ROWS_INL_H_
#undef LINGBOT_OPS_CPU_ATTENTION_ROWS_INL_H_
#else
#define LINGBOT_OPS_CPU_ATTENTION_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "hwy/highway.h"
#include "ops/cpu/exp2-inl.h"
#include "ops/cpu/kv_tiles.h"

#ifndef LINGBOT_OPS_CPU_ATTENTION_ROWS_ONCE_
#define LINGBOT_OPS_CPU_ATTENTION_ROWS_ONCE_
namespace lingbot::ops {

// Up to so many query rows this beats the blocks of rows, which compute at least a whole vector of
// them.
inline constexpr int64_t kFewRows = 4;

// What is known of one row of one head so far.
struct FewRowsState {
  FewRowsState(float* memory, int64_t dim)
      : query(memory),
        sums(query + dim),
        weights(sums + dim),
        largest(weights[kTileTokens]),
        weight_sum(weights[kTileTokens + 1]),
        lost(weights[kTileTokens + 2]) {}
  static int64_t Floats(int64_t dim) { return 2 * dim + kTileTokens + 16; }

  float* query;    // [head_dim], times log2(e) / sqrt(head_dim)
  float* sums;     // [head_dim], weighted values
  float* weights;  // [tile tokens], scores and then their exponentials
  float& largest;  // score
  float& weight_sum;
  float& lost;  // what rounding took from weight_sum
};

}  // namespace lingbot::ops
#endif  // LINGBOT_OPS_CPU_ATTENTION_ROWS_ONCE_

HWY_BEFORE_NAMESPACE();
namespace lingbot::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> LoadAsFloat(D d, const float* source) {
  return hn::LoadU(d, source);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadAsFloat(D d, const uint16_t* source) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> du16;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(du16, source))));
}

// Vectors of at most kLimit lanes. Highway 0.16 cannot cap the single lane of its scalar target.
#if HWY_TARGET == HWY_SCALAR
template <size_t kLimit>
using FloatTag = hn::ScalableTag<float>;
#else
template <size_t kLimit>
using FloatTag = hn::CappedTag<float, kLimit>;
#endif

// Divides every head_dim.
using Channels = FloatTag<kHeadDimStep>;
using ChannelVector = hn::Vec<Channels>;

// Scores of kTokens tokens.
template <int kTokens, typename T>
HWY_INLINE void ScoreTokens(const float* query, const T* keys, int64_t token_stride, int64_t dim,
                            float* scores) {
  const Channels d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  ChannelVector acc[kTokens];
  for (int t = 0; t < kTokens; ++t) acc[t] = hn::Zero(d);
  for (int64_t c = 0; c < dim; c += lanes) {
    const ChannelVector channels = hn::LoadU(d, query + c);
    for (int t = 0; t < kTokens; ++t) {
      acc[t] = hn::MulAdd(channels, LoadAsFloat(d, keys + t * token_stride + c), acc[t]);
    }
  }
  for (int t = 0; t < kTokens; ++t) scores[t] = hn::GetLane(hn::SumOfLanes(d, acc[t]));
}

// Replaces the scores by weights, brings `largest` and `weight_sum` up to date and returns the
// factor by which earlier sums shrink.
HWY_INLINE float WeighTokens(FewRowsState& state, int64_t tokens) {
  const Channels d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float before = state.largest;
  for (int64_t t = 0; t < tokens; ++t) state.largest = std::max(state.largest, state.weights[t]);
  // What pads the last vector weighs 2^-125 at most. The token with the largest score weighs 1, so
  // that the padding is lost in rounding.
  const int64_t padded = (tokens + lanes - 1) / lanes * lanes;
  std::fill(state.weights + tokens, state.weights + padded, std::numeric_limits<float>::lowest());
  const ChannelVector largest = hn::Set(d, state.largest);
  ChannelVector sum = hn::Zero(d);
  for (int64_t t = 0; t < padded; t += lanes) {
    const ChannelVector weights = Exp2(d, hn::Sub(hn::LoadU(d, state.weights + t), largest));
    hn::StoreU(weights, d, state.weights + t);
    sum = hn::Add(sum, weights);
  }
  const float shrink = hn::GetLane(Exp2(d, hn::Set(d, before - state.largest)));
  // Compensated (Kahan): an error here is one of the whole row.
  const float sum_before = state.weight_sum * shrink;
  const float term = state.lost * shrink + hn::GetLane(hn::SumOfLanes(d, sum));
  state.weight_sum = sum_before + term;
  state.lost = term - (state.weight_sum - sum_before);
  return shrink;
}

// sums = shrink * sums + weights v, for kVectors vectors of channels.
template <int kVectors, typename T>
HWY_INLINE void AddTokens(const FewRowsState& state, const T* values, int64_t token_stride,
                          int64_t tokens, float shrink, float* sums) {
  const Channels d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  ChannelVector acc[kVectors];
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::Zero(d);
  for (int64_t t = 0; t < tokens; ++t, values += token_stride) {
    const ChannelVector weight = hn::Set(d, state.weights[t]);
    for (int v = 0; v < kVectors; ++v) {
      acc[v] = hn::MulAdd(weight, LoadAsFloat(d, values + v * lanes), acc[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    float* sum = sums + v * lanes;
    hn::StoreU(hn::MulAdd(hn::LoadU(d, sum), hn::Set(d, shrink), acc[v]), d, sum);
  }
}

template <typename T>
HWY_INLINE void AttendRowToTile(FewRowsState& state, const T* keys, int64_t k_stride,
                                const T* values, int64_t v_stride, int64_t tokens, int64_t dim) {
  constexpr int kTogether = 4;
  int64_t t = 0;
  for (; t + kTogether <= tokens; t += kTogether) {
    ScoreTokens<kTogether>(state.query, keys + t * k_stride, k_stride, dim, state.weights + t);
  }
  for (; t < tokens; ++t) {
    ScoreTokens<1>(state.query, keys + t * k_stride, k_stride, dim, state.weights + t);
  }
  const float shrink = WeighTokens(state, tokens);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Channels()));
  int64_t c = 0;
  for (; c + kTogether * lanes <= dim; c += kTogether * lanes) {
    AddTokens<kTogether>(state, values + c, v_stride, tokens, shrink, state.sums + c);
  }
  for (; c < dim; c += lanes) {
    AddTokens<1>(state, values + c, v_stride, tokens, shrink, state.sums + c);
  }
}

template <typename T>
HWY_INLINE void AttendHeadsToTile(const AttentionProblem& problem, const KvTile& tile,
                                  int64_t first_head, int64_t end_head, float* memory) {
  const int64_t dim = problem.head_dim;
  for (int64_t head = first_head; head < end_head; ++head) {
    const T* keys =
        reinterpret_cast<const T*>(tile.k) + (head - first_head) * problem.k.head_stride;
    const T* values =
        reinterpret_cast<const T*>(tile.v) + (head - first_head) * problem.v.head_stride;
    for (int64_t row = 0; row < problem.tokens; ++row) {
      FewRowsState state(memory + (head * problem.tokens + row) * FewRowsState::Floats(dim), dim);
      AttendRowToTile(state, keys, problem.k.token_stride, values, problem.v.token_stride,
                      tile.tokens, dim);
    }
  }
}

// Heads [first_head, end_head). memory: [heads, tokens, FewRowsState::Floats(head_dim)]
void AttendFewRows(const AttentionProblem& problem, int64_t first_head, int64_t end_head,
                   float* memory) {
  const int64_t dim = problem.head_dim;
  const float scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(dim));
  const auto for_each_row = [&](auto&& body) {
    for (int64_t head = first_head; head < end_head; ++head) {
      for (int64_t row = 0; row < problem.tokens; ++row) {
        FewRowsState state(memory + (head * problem.tokens + row) * FewRowsState::Floats(dim), dim);
        body(head, row, state);
      }
    }
  };
  for_each_row([&](int64_t head, int64_t row, FewRowsState& state) {
    const float* query = problem.Query(row, head);
    for (int64_t c = 0; c < dim; ++c) state.query[c] = scale * query[c];
    std::fill(state.sums, state.sums + dim, 0.0f);
    state.largest = std::numeric_limits<float>::lowest();
    state.weight_sum = 0.0f;
    state.lost = 0.0f;
  });
  KvTiles tiles(problem, first_head);
  for (KvTile tile = tiles.Next(); tile.tokens > 0; tile = tiles.Next()) {
    if (problem.k.dtype == DType::kBF16) {
      AttendHeadsToTile<uint16_t>(problem, tile, first_head, end_head, memory);
    } else {
      AttendHeadsToTile<float>(problem, tile, first_head, end_head, memory);
    }
  }
  for_each_row([&](int64_t head, int64_t row, FewRowsState& state) {
    float* out = problem.Out(row, head);
    for (int64_t c = 0; c < dim; ++c) out[c] = state.sums[c] / state.weight_sum;
  });
}

}  // namespace lingbot::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
