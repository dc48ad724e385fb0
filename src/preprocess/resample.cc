#include "preprocess/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace lingbot {
namespace {

// 8 bits of pixel and 2 bits for overshoot leave 22 of 32 bits for the weight.
constexpr int kWeightBits = 32 - 8 - 2;
constexpr double kSupport = 2.0;  // of the bicubic filter, in samples

double Bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

int32_t ToFixed(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

uint8_t ToPixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

}  // namespace

FilterTable MakeFilterTable(int in_size, int64_t out_size, int64_t first, int outputs) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  const double widening = std::max(scale, 1.0);
  const double support = kSupport * widening;
  FilterTable table;
  table.taps = static_cast<int>(
      std::min<int64_t>(static_cast<int64_t>(std::ceil(support)) * 2 + 1, in_size));
  table.starts.resize(outputs);
  table.counts.resize(outputs);
  table.weights.assign(static_cast<size_t>(outputs) * table.taps, 0);
  std::vector<double> weights(table.taps);
  for (int i = 0; i < outputs; ++i) {
    const double center = (static_cast<double>(first + i) + 0.5) * scale;
    const int begin = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end =
        static_cast<int>(std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in_size));
    double sum = 0;
    for (int k = 0; k < end - begin; ++k) {
      weights[k] = Bicubic((k + begin - center + 0.5) * (1.0 / widening));
      sum += weights[k];
    }
    table.starts[i] = begin;
    table.counts[i] = end - begin;
    int32_t* row = table.weights.data() + static_cast<size_t>(i) * table.taps;
    for (int k = 0; k < end - begin; ++k) {
      row[k] = ToFixed(sum != 0 ? weights[k] / sum : weights[k]);
    }
  }
  return table;
}

Resampler::Resampler(int in_width, int in_height, int out_width, int64_t out_height,
                     int64_t first_row, int rows)
    : in_width_(in_width),
      out_width_(out_width),
      rows_(rows),
      copy_columns_(in_width == out_width),
      copy_rows_(in_height == out_height) {
  Check(in_width > 0 && in_height > 0 && out_width > 0 && rows > 0 && first_row >= 0 &&
            first_row + rows <= out_height,
        ErrorCode::kInternal, "cannot resize {}x{} to rows {} to {} of {}x{}", in_width, in_height,
        first_row, first_row + rows, out_width, out_height);
  first_needed_ = copy_rows_ ? static_cast<int>(first_row) : 0;
  needed_rows_ = rows;
  if (!copy_rows_) {
    row_table_ = MakeFilterTable(in_height, out_height, first_row, rows);
    first_needed_ = row_table_.starts.front();
    needed_rows_ = row_table_.starts.back() + row_table_.counts.back() - first_needed_;
    for (int& start : row_table_.starts) start -= first_needed_;
  }
  if (!copy_columns_) {
    columns_ = MakeFilterTable(in_width, out_width, 0, out_width);
    narrowed_.resize(size_t{3} * needed_rows_ * out_width);
  }
}

void Resampler::Run(const uint8_t* rgb, uint8_t* out, const ThreadTeam& team) {
  const uint8_t* source = rgb + size_t{3} * first_needed_ * in_width_;
  if (!copy_columns_) {
    Horizontal(source, team);
    source = narrowed_.data();
  }
  if (copy_rows_) {
    std::memcpy(out, source, size_t{3} * rows_ * out_width_);
  } else {
    Vertical(source, out, team);
  }
}

void Resampler::Horizontal(const uint8_t* rgb, const ThreadTeam& team) {
  team.ForRange(needed_rows_, 8, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const uint8_t* row = rgb + size_t{3} * y * in_width_;
      uint8_t* target = narrowed_.data() + size_t{3} * y * out_width_;
      for (int x = 0; x < out_width_; ++x) {
        const int32_t* weights = columns_.weights.data() + static_cast<size_t>(x) * columns_.taps;
        const uint8_t* pixel = row + size_t{3} * columns_.starts[x];
        int32_t sums[3] = {kHalf, kHalf, kHalf};
        for (int k = 0; k < columns_.counts[x]; ++k, pixel += 3) {
          for (int c = 0; c < 3; ++c) sums[c] += pixel[c] * weights[k];
        }
        for (int c = 0; c < 3; ++c) target[3 * x + c] = ToPixel(sums[c]);
      }
    }
  });
}

void Resampler::Vertical(const uint8_t* source, uint8_t* out, const ThreadTeam& team) const {
  const int length = 3 * out_width_;
  team.ForRange(rows_, 4, [&](int64_t begin, int64_t end) {
    constexpr int kStrip = 256;  // sums that stay in the first-level cache
    int32_t sums[kStrip];
    for (int64_t y = begin; y < end; ++y) {
      const int32_t* weights = row_table_.weights.data() + y * row_table_.taps;
      for (int left = 0; left < length; left += kStrip) {
        const int count = std::min(kStrip, length - left);
        const uint8_t* row = source + static_cast<size_t>(row_table_.starts[y]) * length + left;
        std::fill_n(sums, count, kHalf);
        for (int k = 0; k < row_table_.counts[y]; ++k, row += length) {
          for (int x = 0; x < count; ++x) sums[x] += row[x] * weights[k];
        }
        for (int x = 0; x < count; ++x) out[y * length + left + x] = ToPixel(sums[x]);
      }
    }
  });
}

}  // namespace lingbot
