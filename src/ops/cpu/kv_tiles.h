#ifndef LINGBOT_OPS_CPU_KV_TILES_H_
#define LINGBOT_OPS_CPU_KV_TILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/cpu/attention_problem.h"

namespace lingbot::ops {

// K and V of a tile: 64 tokens of 64 channels are 32 KB in float32, so that the tile stays in the
// second-level cache and the half in use in the first.
inline constexpr int64_t kTileTokens = 64;

// Some consecutive tokens of one run, of one head.
struct KvTile {
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  int64_t tokens = 0;
};

// Cuts the runs into tiles; none straddles a run. The tiles of a run have the same size, rounded up
// to a multiple of four, but for the last: 65 tokens make 36 + 29 rather than 64 + 1.
class KvTiles {
 public:
  KvTiles(const AttentionProblem& problem, int64_t head) : problem_(problem), head_(head) {}

  // The next tile; one of no tokens at the end.
  KvTile Next() {
    if (run_ == problem_.runs()) return {};
    const int64_t run_tokens = problem_.RunTokens(run_);
    const int64_t tiles = (run_tokens + kTileTokens - 1) / kTileTokens;
    const int64_t step = ((run_tokens + tiles - 1) / tiles + 3) / 4 * 4;
    const int64_t page = problem_.Page(run_);
    const KvTile tile{problem_.k.At(page, begin_, head_), problem_.v.At(page, begin_, head_),
                      std::min(step, run_tokens - begin_)};
    begin_ += tile.tokens;
    if (begin_ == run_tokens) {
      begin_ = 0;
      ++run_;
    }
    return tile;
  }

 private:
  const AttentionProblem& problem_;
  int64_t head_;
  int64_t run_ = 0;
  int64_t begin_ = 0;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_KV_TILES_H_
