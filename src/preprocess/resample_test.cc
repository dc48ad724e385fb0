#include "preprocess/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "lingbot/error.h"

namespace lingbot {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes RandomImage(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Bytes image(size_t{3} * width * height);
  // Half noise, half saturated blocks: overshoot at their edges must be clipped.
  for (size_t i = 0; i < image.size(); ++i) {
    image[i] = i % 2 == 0 ? static_cast<uint8_t>(random()) : (i / 64 % 2 == 0 ? 255 : 0);
  }
  return image;
}

// Keys' cubic convolution kernel with a = -1/2, written from its definition.
double Keys(double x) {
  x = std::abs(x);
  if (x <= 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  if (x < 2) return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
  return 0;
}

// One axis of the resize in double precision: sample `i` of `out_size` from `in(k)`, k < in_size.
template <typename In>
double Sample(int in_size, int64_t out_size, int64_t i, In&& in) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  const double widening = std::max(1.0, scale);
  const double center = (static_cast<double>(i) + 0.5) * scale;
  double sum = 0, total = 0;
  for (int k = 0; k < in_size; ++k) {
    const double weight = Keys((k + 0.5 - center) / widening);
    sum += weight * in(k);
    total += weight;
  }
  return sum / total;
}

double Round8(double value) { return std::clamp(std::floor(value + 0.5), 0.0, 255.0); }

// Slow and plain: both axes in double precision, with the rounding to 8 bits in between.
Bytes Reference(const Bytes& image, int width, int height, int out_width, int out_height) {
  std::vector<double> narrowed(size_t{3} * height * out_width);
  for (int y = 0; y < height; ++y) {
    for (int i = 0; i < 3 * out_width; ++i) {
      narrowed[y * 3 * out_width + i] = Round8(Sample(
          width, out_width, i / 3, [&](int k) { return image[(y * width + k) * 3 + i % 3]; }));
    }
  }
  Bytes out(size_t{3} * out_height * out_width);
  for (int y = 0; y < out_height; ++y) {
    for (int i = 0; i < 3 * out_width; ++i) {
      out[y * 3 * out_width + i] = static_cast<uint8_t>(Round8(
          Sample(height, out_height, y, [&](int k) { return narrowed[k * 3 * out_width + i]; })));
    }
  }
  return out;
}

Bytes Resize(const Bytes& image, int width, int height, int out_width, int out_height,
             int threads) {
  Resampler resampler(width, height, out_width, out_height, 0, out_height);
  Bytes out(size_t{3} * out_width * out_height);
  resampler.Run(image.data(), out.data(), ThreadTeam(threads));
  return out;
}

struct Case {
  int width, height, out_width, out_height;
};
constexpr Case kCases[] = {{64, 48, 56, 42},  {31, 47, 56, 84},   {56, 42, 56, 42},
                           {56, 99, 56, 42},  {99, 42, 56, 42},   {1, 1, 14, 14},
                           {2, 3, 28, 42},    {300, 200, 14, 14}, {3, 300, 14, 28},
                           {97, 101, 98, 98}, {701, 5, 14, 14}};

TEST(Resample, AgreesWithDoublePrecision) {
  for (const Case& c : kCases) {
    const Bytes image = RandomImage(c.width, c.height, c.width);
    const Bytes out = Resize(image, c.width, c.height, c.out_width, c.out_height, 1);
    const Bytes expected = Reference(image, c.width, c.height, c.out_width, c.out_height);
    int worst = 0;
    size_t differing = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      worst = std::max(worst, std::abs(out[i] - expected[i]));
      differing += out[i] != expected[i];
    }
    EXPECT_LE(worst, 1) << c.width << "x" << c.height;
    EXPECT_LE(differing, out.size() / 500) << c.width << "x" << c.height;
  }
}

TEST(Resample, DoesNotDependOnThreads) {
  for (const Case& c : kCases) {
    const Bytes image = RandomImage(c.width, c.height, 5);
    const Bytes one = Resize(image, c.width, c.height, c.out_width, c.out_height, 1);
    EXPECT_EQ(one, Resize(image, c.width, c.height, c.out_width, c.out_height, 3));
  }
}

TEST(Resample, RowsOfAPartAreRowsOfTheWhole) {
  const Bytes image = RandomImage(60, 130, 9);
  for (const auto& [first, rows] : {std::pair{0, 1}, {41, 43}, {83, 43}, {125, 1}}) {
    for (int out_height : {126, 130}) {
      Bytes whole = Resize(image, 60, 130, 56, out_height, 2);
      Resampler resampler(60, 130, 56, out_height, first, rows);
      Bytes part(size_t{3} * 56 * rows);
      resampler.Run(image.data(), part.data(), ThreadTeam(2));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 3 * 56 * first));
    }
  }
}

// A few rows out of the middle of a picture that would be half a billion rows tall.
TEST(Resample, HugeVirtualHeightCostsOnlyItsRows) {
  const Bytes image(size_t{3} * 100000, 77);
  Resampler resampler(1, 100000, 518, 51'800'000, 25'899'741, 518);
  Bytes out(size_t{3} * 518 * 518);
  resampler.Run(image.data(), out.data(), ThreadTeam(1));
  EXPECT_EQ(out, Bytes(out.size(), 77));
}

TEST(Resample, FlatStaysFlat) {
  for (uint8_t level : {0, 1, 127, 254, 255}) {
    const Bytes image(size_t{3} * 4001 * 3, level);
    EXPECT_EQ(Resize(image, 4001, 3, 14, 14, 1), Bytes(3 * 14 * 14, level));
    EXPECT_EQ(Resize(image, 3, 4001, 14, 14, 1), Bytes(3 * 14 * 14, level));
  }
}

TEST(Resample, WeightsSumToOne) {
  for (const auto& [in, out] :
       {std::pair{3840, 518}, {1, 14}, {14, 518}, {57000, 14}, {518, 518}}) {
    const FilterTable table = MakeFilterTable(in, out, 0, out);
    for (int i = 0; i < out; ++i) {
      const int32_t* row = table.weights.data() + static_cast<size_t>(i) * table.taps;
      const int64_t sum = std::accumulate(row, row + table.taps, int64_t{0});
      EXPECT_LE(std::abs(sum - (1 << 22)), table.counts[i]);
      EXPECT_LE(table.starts[i] + table.counts[i], in);
    }
  }
}

TEST(Resample, RejectsRowsOutside) {
  EXPECT_THROW(Resampler(10, 10, 14, 14, 0, 15), Error);
  EXPECT_THROW(Resampler(10, 10, 14, 14, -1, 5), Error);
  EXPECT_THROW(Resampler(0, 10, 14, 14, 0, 14), Error);
}

}  // namespace
}  // namespace lingbot
