#include "ops/cpu/attention_tiled.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/cpu/kv_tiles.h"
#include "ops/cpu/state.h"

// Vectors of a length that only run time knows cannot be elements of the arrays below; such
// processors get the instruction set of fixed length.
#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention_tiled.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "ops/cpu/attention_rows-inl.h"
#include "ops/cpu/exp2-inl.h"

#ifndef LINGBOT_OPS_CPU_ATTENTION_TILED_ONCE_
#define LINGBOT_OPS_CPU_ATTENTION_TILED_ONCE_
namespace lingbot::ops {

// Most query rows of one work item. More rows share the conversion of a tile; their operands still
// fit the second-level cache.
constexpr int64_t kBlockRows = 816;
// Query rows that lie side by side in one panel: three vectors, of at most 16 lanes.
constexpr int64_t kPanelVectors = 3;
constexpr int64_t kMaxLanes = 16;
constexpr int64_t kMaxPanelRows = kPanelVectors * kMaxLanes;
// A block that ends in the middle of a panel is padded to a whole one.
constexpr int64_t kMaxPaddedRows = kBlockRows + kMaxPanelRows;

// Temporary memory of one thread. A panel stores channel by channel, the rows side by side.
struct TiledScratch {
  explicit TiledScratch(float* memory, int64_t dim)
      : queries(memory),
        sums(queries + kMaxPaddedRows * dim),
        keys(sums + kMaxPaddedRows * dim),
        values(keys + kTileTokens * dim),
        weights(values + kTileTokens * dim),
        largest(weights + kTileTokens * kMaxPanelRows),
        weight_sums(largest + kMaxPaddedRows),
        lost(weight_sums + kMaxPaddedRows) {}
  static int64_t Floats(int64_t dim) {
    return 2 * kMaxPaddedRows * dim + 2 * kTileTokens * dim + kTileTokens * kMaxPanelRows +
           3 * kMaxPaddedRows;
  }

  float* queries;      // [panels, head_dim, panel rows], times log2(e) / sqrt(head_dim)
  float* sums;         // [panels, head_dim, panel rows], weighted values so far
  float* keys;         // [tile tokens, head_dim]
  float* values;       // [tile tokens, head_dim]
  float* weights;      // [tile tokens, panel rows], scores and then their exponentials
  float* largest;      // [panels, panel rows], largest score so far
  float* weight_sums;  // [panels, panel rows]
  float* lost;         // [panels, panel rows], what rounding took from weight_sums
};

struct RowBlock {
  int64_t head;
  int64_t first_row;
  int64_t rows;
};

}  // namespace lingbot::ops
#endif  // LINGBOT_OPS_CPU_ATTENTION_TILED_ONCE_

HWY_BEFORE_NAMESPACE();
namespace lingbot::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = FloatTag<kMaxLanes>;
using Vector = hn::Vec<Floats>;

// Rows of the left operand in the innermost product: with three vectors of the right one that makes
// 12 accumulators, enough to cover a multiply-add of 4 cycles on two units, in 16 registers.
constexpr int kProductRows = 4;

HWY_INLINE int64_t PanelRows() { return kPanelVectors * static_cast<int64_t>(hn::Lanes(Floats())); }

// [tokens, dim], rows `token_stride` elements apart, to contiguous float32.
template <typename T>
HWY_INLINE void ConvertRows(const std::byte* source, int64_t token_stride, int64_t tokens,
                            int64_t dim, float* target) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* row = reinterpret_cast<const T*>(source);
  for (int64_t token = 0; token < tokens; ++token, row += token_stride, target += dim) {
    int64_t c = 0;
    for (; c + lanes <= dim; c += lanes) hn::StoreU(LoadAsFloat(d, row + c), d, target + c);
    for (; c < dim; ++c) {
      if constexpr (sizeof(T) == 2) {
        target[c] = ToFloat(BFloat16{row[c]});
      } else {
        target[c] = row[c];
      }
    }
  }
}

HWY_INLINE void ConvertTile(const KvPlane& plane, const std::byte* source, int64_t tokens,
                            int64_t dim, float* target) {
  if (plane.dtype == DType::kBF16) {
    ConvertRows<uint16_t>(source, plane.token_stride, tokens, dim, target);
  } else {
    ConvertRows<float>(source, plane.token_stride, tokens, dim, target);
  }
}

// acc[r][v] = sum over i < depth of a[r * row_step + i * depth_step] * b[i * kVectors + v], b in
// vectors.
template <int kRows, int kVectors>
HWY_INLINE void Product(const float* HWY_RESTRICT a, int64_t row_step, int64_t depth_step,
                        const float* HWY_RESTRICT b, int64_t depth,
                        Vector (&acc)[kRows][kVectors]) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < depth; ++i) {
    Vector right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::Load(d, b + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const Vector left = hn::Set(d, a[r * row_step]);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(left, right[v], acc[r][v]);
    }
    a += depth_step;
    b += kVectors * lanes;
  }
}

// Scores of kRows tokens, and the largest of them per query row.
template <int kRows, int kVectors>
HWY_INLINE void Scores(const float* keys, const float* queries, int64_t dim, float* scores,
                       Vector (&largest)[kVectors]) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector acc[kRows][kVectors];
  Product<kRows, kVectors>(keys, dim, 1, queries, dim, acc);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(acc[r][v], d, scores + (r * kVectors + v) * lanes);
      largest[v] = hn::Max(largest[v], acc[r][v]);
    }
  }
}

// weight_sums = weight_sums * shrink + sum, compensated (Kahan): an error here is one of the whole
// row.
HWY_INLINE void AddWeights(Vector sum, Vector shrink, float* weight_sums, float* lost) {
  const Floats d;
  const Vector before = hn::Mul(hn::Load(d, weight_sums), shrink);
  const Vector term = hn::MulAdd(hn::Load(d, lost), shrink, sum);
  const Vector after = hn::Add(before, term);
  hn::Store(after, d, weight_sums);
  hn::Store(hn::Sub(term, hn::Sub(after, before)), d, lost);
}

// One panel of queries against one tile: scores, online softmax, weighted values.
template <int kVectors>
struct Panel {
  // The weights of the tile replace its scores. `largest` and `weight_sums` are brought up to date;
  // the result is the factor by which what was summed before shrinks.
  static HWY_INLINE void Softmax(const TiledScratch& scratch, int64_t first_row, int64_t tokens,
                                 const Vector (&tile_largest)[kVectors],
                                 Vector (&shrink)[kVectors]) {
    float* scores = scratch.weights;
    float* largest = scratch.largest + first_row;
    const Floats d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    Vector now[kVectors];
    Vector sum[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const Vector before = hn::Load(d, largest + v * lanes);
      now[v] = hn::Max(before, tile_largest[v]);
      hn::Store(now[v], d, largest + v * lanes);
      shrink[v] = Exp2(d, hn::Sub(before, now[v]));
      sum[v] = hn::Zero(d);
    }
    for (int64_t token = 0; token < tokens; ++token, scores += kVectors * lanes) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector weight = Exp2(d, hn::Sub(hn::Load(d, scores + v * lanes), now[v]));
        hn::Store(weight, d, scores + v * lanes);
        sum[v] = hn::Add(sum[v], weight);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      AddWeights(sum[v], shrink[v], scratch.weight_sums + first_row + v * lanes,
                 scratch.lost + first_row + v * lanes);
    }
  }

  // The tile's values are summed on their own before they join the sum so far: the rounding error
  // of a long sum grows with the number of its terms.
  static HWY_INLINE void AddValues(const float* values, const float* weights, int64_t tokens,
                                   int64_t dim, const Vector (&shrink)[kVectors], float* sums) {
    const Floats d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t c = 0; c < dim; c += kProductRows) {
      Vector acc[kProductRows][kVectors];
      Product<kProductRows, kVectors>(values + c, 1, dim, weights, tokens, acc);
      for (int r = 0; r < kProductRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          float* sum = sums + ((c + r) * kVectors + v) * lanes;
          hn::Store(hn::MulAdd(hn::Load(d, sum), shrink[v], acc[r][v]), d, sum);
        }
      }
    }
  }

  static HWY_NOINLINE void Attend(const TiledScratch& scratch, int64_t panel, int64_t tokens,
                                  int64_t dim) {
    const int64_t rows = PanelRows();
    const int64_t width = kVectors * static_cast<int64_t>(hn::Lanes(Floats()));
    const float* queries = scratch.queries + panel * rows * dim;
    Vector tile_largest[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      tile_largest[v] = hn::Set(Floats(), std::numeric_limits<float>::lowest());
    }
    int64_t token = 0;
    for (; token + kProductRows <= tokens; token += kProductRows) {
      Scores<kProductRows, kVectors>(scratch.keys + token * dim, queries, dim,
                                     scratch.weights + token * width, tile_largest);
    }
    for (; token < tokens; ++token) {
      Scores<1, kVectors>(scratch.keys + token * dim, queries, dim, scratch.weights + token * width,
                          tile_largest);
    }
    Vector shrink[kVectors];
    Softmax(scratch, panel * rows, tokens, tile_largest, shrink);
    AddValues(scratch.values, scratch.weights, tokens, dim, shrink,
              scratch.sums + panel * rows * dim);
  }
};

// The last panel of a block computes only the vectors that hold rows.
HWY_INLINE int64_t PanelWidth(int64_t rows_left) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  return std::min(kPanelVectors, (rows_left + lanes - 1) / lanes) * lanes;
}

void AttendPanel(const TiledScratch& scratch, int64_t panel, int64_t rows_left, int64_t tokens,
                 int64_t dim) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  if (rows_left > 2 * lanes) return Panel<3>::Attend(scratch, panel, tokens, dim);
  if (rows_left > lanes) return Panel<2>::Attend(scratch, panel, tokens, dim);
  Panel<1>::Attend(scratch, panel, tokens, dim);
}

// Rows are asked for ahead of use, because the processor cannot foresee them: a head's channels are
// a small part of a token's.
constexpr int64_t kRowsAhead = 4;

HWY_INLINE void PrefetchRow(const void* row, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += 64) {
    hwy::Prefetch(static_cast<const std::byte*>(row) + line);
  }
}

// Rows [begin, end) of K and V of a tile.
HWY_INLINE void PrefetchTile(const AttentionProblem& problem, const KvTile& tile, int64_t begin,
                             int64_t end) {
  const int64_t element = static_cast<int64_t>(SizeOf(problem.k.dtype));
  for (int64_t token = begin; token < std::min(end, tile.tokens); ++token) {
    PrefetchRow(tile.k + token * problem.k.token_stride * element, problem.head_dim * element);
    PrefetchRow(tile.v + token * problem.v.token_stride * element, problem.head_dim * element);
  }
}

// Scaled so that the exponential of a score is a power of two.
void PackQueries(const AttentionProblem& problem, const RowBlock& block,
                 const TiledScratch& scratch) {
  const int64_t panel_rows = PanelRows();
  const int64_t dim = problem.head_dim;
  const float scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(dim));
  for (int64_t first = 0; first < block.rows; first += panel_rows) {
    const int64_t width = PanelWidth(block.rows - first);
    float* panel = scratch.queries + first * dim;
    for (int64_t row = 0; row < width; ++row) {
      const int64_t ahead = block.first_row + first + row + kRowsAhead;
      if (ahead < problem.tokens)
        PrefetchRow(problem.Query(ahead, block.head), dim * sizeof(float));
      const bool padding = first + row >= block.rows;
      const float* query =
          padding ? nullptr : problem.Query(block.first_row + first + row, block.head);
      for (int64_t c = 0; c < dim; ++c) panel[c * width + row] = padding ? 0.0f : scale * query[c];
    }
  }
}

void UnpackSums(const AttentionProblem& problem, const RowBlock& block,
                const TiledScratch& scratch) {
  const int64_t panel_rows = PanelRows();
  const int64_t dim = problem.head_dim;
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t first = row / panel_rows * panel_rows;
    const int64_t width = PanelWidth(block.rows - first);
    const float* sums = scratch.sums + first * dim + (row - first);
    const float inverse = 1.0f / scratch.weight_sums[row];
    float* out = problem.Out(block.first_row + row, block.head);
    for (int64_t c = 0; c < dim; ++c) out[c] = sums[c * width] * inverse;
  }
}

void AttendBlock(const AttentionProblem& problem, const RowBlock& block, float* memory) {
  const int64_t dim = problem.head_dim;
  const int64_t panel_rows = PanelRows();
  const int64_t panels = (block.rows + panel_rows - 1) / panel_rows;
  const int64_t padded = panels * panel_rows;
  const TiledScratch scratch(memory, dim);
  PackQueries(problem, block, scratch);
  std::fill(scratch.sums, scratch.sums + padded * dim, 0.0f);
  std::fill(scratch.largest, scratch.largest + padded, std::numeric_limits<float>::lowest());
  std::fill(scratch.weight_sums, scratch.weight_sums + padded, 0.0f);
  std::fill(scratch.lost, scratch.lost + padded, 0.0f);

  KvTiles tiles(problem, block.head);
  for (KvTile tile = tiles.Next(); tile.tokens > 0;) {
    const KvTile next = tiles.Next();
    const int64_t share = (next.tokens + panels - 1) / panels;
    ConvertTile(problem.k, tile.k, tile.tokens, dim, scratch.keys);
    ConvertTile(problem.v, tile.v, tile.tokens, dim, scratch.values);
    for (int64_t panel = 0; panel < panels; ++panel) {
      PrefetchTile(problem, next, panel * share, (panel + 1) * share);
      AttendPanel(scratch, panel, block.rows - panel * panel_rows, tile.tokens, dim);
    }
    tile = next;
  }
  UnpackSums(problem, block, scratch);
}

int64_t PanelRowsOfTarget() { return PanelRows(); }

}  // namespace lingbot::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lingbot::ops {
namespace {

HWY_EXPORT(AttendBlock);
HWY_EXPORT(PanelRowsOfTarget);
HWY_EXPORT(AttendFewRows);

// Rows per work item, whole panels: as many as allowed, but several items a thread while there are
// rows to share.
int64_t BlockRows(int64_t tokens, int64_t heads, int threads) {
  constexpr int64_t kItemsPerThread = 4;
  const int64_t panel_rows = HWY_DYNAMIC_DISPATCH(PanelRowsOfTarget)();
  const int64_t blocks = std::max((tokens + kBlockRows - 1) / kBlockRows,
                                  (kItemsPerThread * threads + heads - 1) / heads);
  const int64_t panels = ((tokens + blocks - 1) / blocks + panel_rows - 1) / panel_rows;
  return std::max<int64_t>(panels, 1) * panel_rows;
}

// Blocks of rows, each of one head.
void AttendInBlocks(Context& context, const AttentionProblem& problem) {
  const ThreadTeam& team = context.team();
  const int64_t slice = TiledScratch::Floats(problem.head_dim);
  float* memory = context.arena().Floats({team.size(), slice}).data<float>();
  const int64_t block_rows = BlockRows(problem.tokens, problem.heads, team.size());
  const int64_t blocks = (problem.tokens + block_rows - 1) / block_rows;
  const int64_t items = problem.heads * blocks;
  team.ForEach(items, [&](int64_t item) {
    const int64_t first_row = item % blocks * block_rows;
    const RowBlock block{item / blocks, first_row,
                         std::min(block_rows, problem.tokens - first_row)};
    HWY_DYNAMIC_DISPATCH(AttendBlock)(problem, block, memory + WorkerSlot(team, items) * slice);
  });
}

// Groups of neighbouring heads, so that what is read of a token is one long stretch.
void AttendByHeads(Context& context, const AttentionProblem& problem) {
  const int64_t state = FewRowsState::Floats(problem.head_dim);
  float* memory = context.arena().Floats({problem.heads, problem.tokens, state}).data<float>();
  const int64_t group = std::max<int64_t>(1, problem.heads / (2 * context.team().size()));
  context.team().ForEach((problem.heads + group - 1) / group, [&](int64_t item) {
    const int64_t first = item * group;
    HWY_DYNAMIC_DISPATCH(AttendFewRows)
    (problem, first, std::min(first + group, problem.heads), memory);
  });
}

}  // namespace

void TiledAttention(Context& context, const AttentionProblem& problem) {
  context.cpu().last_attention = AttentionBackend::kCpu;
  const Arena::Scope scope(context.arena());
  if (problem.tokens <= kFewRows) return AttendByHeads(context, problem);
  AttendInBlocks(context, problem);
}

size_t TiledAttentionBytes(int threads, int64_t tokens, int64_t heads, int64_t head_dim) {
  const size_t few = Arena::BytesFor(
      DType::kF32, heads * std::min(tokens, kFewRows) * FewRowsState::Floats(head_dim));
  if (tokens <= kFewRows) return few;
  return std::max(few, Arena::BytesFor(DType::kF32, threads * TiledScratch::Floats(head_dim)));
}

}  // namespace lingbot::ops
#endif  // HWY_ONCE
