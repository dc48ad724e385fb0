#ifndef LINGBOT_PREPROCESS_RESAMPLE_H_
#define LINGBOT_PREPROCESS_RESAMPLE_H_

#include <cstdint>
#include <vector>

#include "base/thread_team.h"

namespace lingbot {

// Weights of a one-dimensional bicubic filter (a = -0.5, widened by the scale when shrinking, so
// that nothing aliases): output i is the sum of weight[i][k] * input[start[i] + k] for k <
// count[i], in units of 2^-22.
struct FilterTable {
  int taps = 0;                  // row length of `weights`; rows are padded with zeros
  std::vector<int> starts;       // [outputs]
  std::vector<int> counts;       // [outputs], each in [1, taps]
  std::vector<int32_t> weights;  // [outputs, taps]
};

// The table for outputs [first, first + outputs) of a resize from `in_size` to `out_size` samples.
FilterTable MakeFilterTable(int in_size, int64_t out_size, int64_t first, int outputs);

// Resizes 8-bit RGB images of one size exactly as Pillow's Image.resize(size, BICUBIC) does, to the
// last bit: columns first, then rows, 22-bit fixed-point weights, and 8 bits in between. Only the
// rows asked for are computed. Keeps its tables and scratch memory, so that a stream of equal
// frames allocates nothing.
class Resampler {
 public:
  // The result is rows [first_row, first_row + rows) of the full out_width x out_height image.
  // Every size is positive and the rows lie inside (kInternal otherwise).
  Resampler(int in_width, int in_height, int out_width, int64_t out_height, int64_t first_row,
            int rows);

  // rgb: [in_height, in_width, 3]; out: [rows, out_width, 3].
  void Run(const uint8_t* rgb, uint8_t* out, const ThreadTeam& team);

 private:
  void Horizontal(const uint8_t* rgb, const ThreadTeam& team);
  void Vertical(const uint8_t* source, uint8_t* out, const ThreadTeam& team) const;

  int in_width_, out_width_, rows_;
  bool copy_columns_, copy_rows_;   // a side that keeps its size is not filtered
  int first_needed_, needed_rows_;  // input rows that the vertical filter reads
  FilterTable columns_, row_table_;
  std::vector<uint8_t> narrowed_;  // [needed_rows_, out_width_, 3]
};

}  // namespace lingbot

#endif  // LINGBOT_PREPROCESS_RESAMPLE_H_
