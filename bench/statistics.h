#ifndef LINGBOT_BENCH_STATISTICS_H_
#define LINGBOT_BENCH_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "layers/position.h"
#include "lingbot/model.h"

namespace lingbot {

// Smallest value that at least `quantile` of the values do not exceed (nearest rank); 0 if there
// are none. quantile in [0, 1].
double Quantile(std::vector<double> values, double quantile);

// Frames [begin, end) whose times stand for frame number `end`.
struct FrameRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Ranges ending at 50, 100, 200, 500, 1000, 2000, 5000, ... and at `frames`: at most 100 frames
// each, none of them counted twice, none before `first`. Empty ranges are left out.
std::vector<FrameRange> MarkedRanges(int64_t frames, int64_t first);

// FNV-1a over 32-bit words: the bits of numbers in the order in which they are added.
class BitHash {
 public:
  void Add(std::span<const float> values);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

// Floating-point operations (a multiply-add is two) of one frame's products with weights in the
// image encoder and the frame and global blocks; attention and heads are left out.
double LinearOperations(const ModelInfo& model, const PatchGrid& grid);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_STATISTICS_H_
