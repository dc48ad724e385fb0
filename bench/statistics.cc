#include "bench/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lingbot {
namespace {

constexpr int64_t kFirstMark = 50;
constexpr int64_t kLongestRange = 100;
constexpr int64_t kEncoderExtras = 5;  // class token and registers

// 50, 100, 200, 500, 1000, ...: the factors from one to the next repeat 2, 2, 2.5.
int64_t NextMark(int64_t mark) {
  int64_t leading = mark;
  while (leading >= 10) leading /= 10;
  return leading == 2 ? mark / 2 * 5 : 2 * mark;
}

}  // namespace

double Quantile(std::vector<double> values, double quantile) {
  if (values.empty()) return 0.0;
  const auto count = static_cast<double>(values.size());
  const double rank = std::clamp(std::ceil(quantile * count) - 1.0, 0.0, count - 1.0);
  const auto chosen = values.begin() + static_cast<int64_t>(rank);
  std::nth_element(values.begin(), chosen, values.end());
  return *chosen;
}

std::vector<FrameRange> MarkedRanges(int64_t frames, int64_t first) {
  std::vector<FrameRange> ranges;
  int64_t previous = first;
  for (int64_t mark = kFirstMark; previous < frames; mark = NextMark(mark)) {
    const int64_t end = std::min(mark, frames);
    const int64_t begin = std::max(previous, end - kLongestRange);
    if (begin < end) ranges.push_back({begin, end});
    previous = std::max(previous, end);
  }
  return ranges;
}

void BitHash::Add(std::span<const float> values) {
  for (const float value : values) {
    value_ = (value_ ^ std::bit_cast<uint32_t>(value)) * 0x100000001B3u;
  }
}

double LinearOperations(const ModelInfo& model, const PatchGrid& grid) {
  const double c = model.embed_dim;
  // qkv 3, proj 1, fc1 and fc2 mlp_ratio each: times C * C multiply-adds a row
  const double block_row = 2.0 * (4 + 2 * model.mlp_ratio) * c * c;
  const auto patches = static_cast<double>(grid.patches());
  const double embedding = 2.0 * patches * 3 * model.patch_size * model.patch_size * c;
  return embedding + block_row * (model.vit_depth * (patches + kEncoderExtras) +
                                  2.0 * model.depth * static_cast<double>(grid.tokens()));
}

}  // namespace lingbot
