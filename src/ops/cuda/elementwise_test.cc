#include "ops/cuda/elementwise.h"

#include "ops/cuda/resize.h"
#include "ops/cuda/test_util.h"

namespace lingbot::ops::cuda {
namespace {

constexpr DType kFeatureTypes[] = {DType::kF32, DType::kF16};
constexpr DType kFloatTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

class ElementwiseCheck : public DeviceTest {};

template <typename Function>
std::vector<float> Map(std::vector<float> values, Function function) {
  for (float& value : values) value = static_cast<float>(function(double{value}));
  return values;
}

TEST_F(ElementwiseCheck, FlatOperatorsOfAnyLength) {
  for (const int64_t count : {1, 7, 8, 4099, 65536}) {
    for (const DType dtype : kFloatTypes) {
      SCOPED_TRACE(testing::Message() << count << " " << NameOf(dtype));
      const std::vector<float> x = Rounded(Random(count, 1), dtype);
      const std::vector<float> y = Rounded(Random(count, 2), dtype);
      const DeviceArray device_x(x, dtype), device_y(y, dtype);
      Add(device_x.data(), device_y.data(), dtype, count, stream());
      std::vector<float> sum = x;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += y[i];
      EXPECT_LT(RelativeError(device_y.Download(), sum), Tolerance(dtype));
      Relu(device_x.data(), dtype, count, stream());
      const auto rectified = Map(x, [](double v) { return std::max(v, 0.0); });
      EXPECT_EQ(device_x.Download(), rectified);
      for (const DType other : kFloatTypes) {
        const DeviceArray source(x, dtype), target(count, other);
        Convert(source.data(), dtype, target.data(), other, count, stream());
        EXPECT_EQ(target.Download(), Rounded(x, other)) << NameOf(other);
      }
    }
    const std::vector<float> x = Random(count, 3);
    const DeviceArray device(x, DType::kF32);
    Silu(device.floats(), count, stream());
    const auto expected = Map(x, [](double v) { return v / (1.0 + std::exp(-v)); });
    EXPECT_LT(RelativeError(device.Download(), expected), 1e-6);
  }
}

TEST_F(ElementwiseCheck, NotANumberComesThroughRelu) {
  const DeviceArray x(16, DType::kF16);  // poisoned
  Relu(x.data(), DType::kF16, 16, stream());
  for (const float value : x.Download()) EXPECT_TRUE(std::isnan(value));
}

TEST_F(ElementwiseCheck, BiasPassesHonourStrides) {
  for (const auto& [channels, stride] : {std::pair<int64_t, int64_t>{64, 64}, {64, 72}, {9, 11}}) {
    for (const DType dtype : kFloatTypes) {
      constexpr int64_t kRows = 21;
      const std::vector<float> y = Rounded(Random(kRows * stride, 1), dtype);
      const std::vector<float> bias = Random(channels, 2);
      const DeviceArray device_bias(bias, DType::kF32);
      const auto check = [&](auto pass, auto function, const float* b) {
        const DeviceArray device(y, dtype);
        pass(device.data(), dtype, kRows, channels, stride, b, stream());
        std::vector<float> expected = y;
        for (int64_t i = 0; i < kRows * channels; ++i) {
          float& value = expected[static_cast<size_t>(i / channels * stride + i % channels)];
          const double add = b == nullptr ? 0.0 : bias[static_cast<size_t>(i % channels)];
          value = static_cast<float>(function(value + add));
        }
        EXPECT_LT(RelativeError(device.Download(), expected), Tolerance(dtype)) << channels;
      };
      const auto same = [](double v) { return v; };
      const auto gelu = [](double v) { return 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0))); };
      check(AddBias, same, device_bias.floats());
      check(AddBiasGelu, gelu, device_bias.floats());
      check(AddBiasGelu, gelu, nullptr);
      check(
          AddBiasRelu, [](double v) { return std::max(v, 0.0); }, device_bias.floats());
    }
  }
}

// The tanh approximation is off by up to 5e-4.
TEST_F(ElementwiseCheck, GeluIsTheExactOne) {
  std::vector<float> x;
  for (int i = -600; i <= 600; ++i) x.push_back(0.01f * static_cast<float>(i));
  const DeviceArray device(x, DType::kF32);
  const int64_t count = static_cast<int64_t>(x.size());
  AddBiasGelu(device.data(), DType::kF32, 1, count, count, nullptr, stream());
  const std::vector<float> got = device.Download();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(got[i], 0.5 * x[i] * (1.0 + std::erf(x[i] / std::sqrt(2.0))), 1e-6);
  }
}

TEST_F(ElementwiseCheck, RowsAreAddedAndCopied) {
  constexpr int64_t kRows = 7, kTable = 3;
  for (const int64_t c : {16, 10}) {
    const int64_t stride = c + 8;
    const std::vector<float> table = Random(kTable * c, 1), y = Random(kRows * stride, 2);
    const DeviceArray device_table(table, DType::kF32), sum(y, DType::kF32), copy(y, DType::kF32),
        repeated(y, DType::kF32);
    AddRows(device_table.floats(), kTable, sum.floats(), kRows, c, stride, stream());
    CopyRows(device_table.floats(), c, copy.floats(), stride, kTable, c, stream());
    CopyRows(device_table.floats(), 0, repeated.floats(), stride, kRows, c, stream());
    std::vector<float> expected_sum = y, expected_copy = y, expected_repeat = y;
    for (int64_t i = 0; i < c; ++i) {
      for (int64_t row = 0; row < kRows; ++row) {
        const size_t at = static_cast<size_t>(row * stride + i);
        expected_sum[at] += table[static_cast<size_t>(row % kTable * c + i)];
        if (row < kTable) expected_copy[at] = table[static_cast<size_t>(row * c + i)];
        expected_repeat[at] = table[static_cast<size_t>(i)];
      }
    }
    EXPECT_EQ(sum.Download(), expected_sum);
    EXPECT_EQ(copy.Download(), expected_copy);
    EXPECT_EQ(repeated.Download(), expected_repeat);
  }
}

std::vector<float> WithPositionMap(std::vector<float> x, const std::vector<float>& across,
                                   const std::vector<float>& down, int64_t columns,
                                   int64_t channels) {
  const int64_t half = channels / 2;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t pixel = static_cast<int64_t>(i) / channels;
    const int64_t channel = static_cast<int64_t>(i) % channels;
    x[i] += channel < half ? across[static_cast<size_t>(pixel % columns * half + channel)]
                           : down[static_cast<size_t>(pixel / columns * half + channel - half)];
  }
  return x;
}

TEST_F(ElementwiseCheck, PositionMap) {
  constexpr int64_t kRows = 5, kColumns = 7;
  for (const int64_t channels : {32, 12, 2}) {
    for (const DType dtype : kFeatureTypes) {
      const std::vector<float> x = Rounded(Random(kRows * kColumns * channels, 1), dtype);
      const std::vector<float> across = Random(kColumns * channels / 2, 2);
      const std::vector<float> down = Random(kRows * channels / 2, 3);
      const DeviceArray device(x, dtype), a(across, DType::kF32), d(down, DType::kF32);
      AddPositionMap(a.floats(), d.floats(), device.data(), dtype, kRows, kColumns, channels,
                     stream());
      EXPECT_LT(
          RelativeError(device.Download(), WithPositionMap(x, across, down, kColumns, channels)),
          Tolerance(dtype));
    }
  }
}

TEST_F(ElementwiseCheck, PatchesInTheOrderChannelRowColumn) {
  constexpr int64_t kHeight = 12, kWidth = 20;
  constexpr int kPatch = 4;
  constexpr int64_t kInner = 3 * kPatch * kPatch, kStride = kInner + 5;
  const Normalization normalization{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
  const std::vector<float> image = Random(3 * kHeight * kWidth, 1);
  for (const DType dtype : kFloatTypes) {
    std::vector<float> expected(15 * kStride, 0.0f);  // behind every row too
    for (int64_t i = 0; i < 15 * kInner; ++i) {
      const int64_t patch = i / kInner, at = i % kInner;
      const int64_t channel = at / 16, y = at % 16 / 4 + patch / 5 * 4, x = at % 4 + patch % 5 * 4;
      expected[static_cast<size_t>(patch * kStride + at)] =
          (image[static_cast<size_t>((channel * kHeight + y) * kWidth + x)] -
           normalization.mean[channel]) /
          normalization.deviation[channel];
    }
    const DeviceArray device(image, DType::kF32), out(15 * kStride, dtype);
    ExtractPatches(device.floats(), kHeight, kWidth, kPatch, normalization, out.data(), dtype,
                   kStride, stream());
    EXPECT_LT(RelativeError(out.Download(), expected), Tolerance(dtype));
  }
}

TEST_F(ElementwiseCheck, DepthToSpace) {
  constexpr int64_t kRows = 3, kColumns = 5;
  for (const auto& [size, channels] : {std::pair<int, int64_t>{4, 8}, {2, 16}, {2, 3}}) {
    for (const DType dtype : kFeatureTypes) {
      const int64_t count = kRows * kColumns * size * size * channels;
      const std::vector<float> x = Rounded(Random(count, 1), dtype);
      std::vector<float> expected(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t channel = i % channels, across = i / channels % size;
        const int64_t down = i / channels / size % size, pixel = i / channels / size / size;
        const int64_t row = pixel / kColumns * size + down;
        const int64_t column = pixel % kColumns * size + across;
        expected[static_cast<size_t>((row * kColumns * size + column) * channels + channel)] =
            x[static_cast<size_t>(i)];
      }
      const DeviceArray device(x, dtype), y(count, dtype);
      DepthToSpace(device.data(), dtype, kRows, kColumns, size, channels, y.data(), stream());
      EXPECT_EQ(y.Download(), expected);
    }
  }
}

TEST_F(ElementwiseCheck, DepthAndConfidence) {
  constexpr int64_t kPixels = 1000;
  for (const int64_t channels : {32, 5}) {
    for (const DType dtype : kFeatureTypes) {
      const std::vector<float> x = Rounded(Random(kPixels * channels, 1), dtype);
      const std::vector<float> w = Random(2 * channels, 2), b = Random(2, 3);
      std::vector<float> logits, depth, confidence;
      for (int64_t p = 0; p < kPixels; ++p) {
        double sums[2] = {b[0], b[1]};
        for (int64_t c = 0; c < channels; ++c) {
          const double value = x[static_cast<size_t>(p * channels + c)];
          sums[0] += value * w[static_cast<size_t>(c)];
          sums[1] += value * w[static_cast<size_t>(channels + c)];
        }
        logits.insert(logits.end(), {static_cast<float>(sums[0]), static_cast<float>(sums[1])});
        depth.push_back(static_cast<float>(std::exp(sums[0])));
        confidence.push_back(static_cast<float>(1.0 + std::exp(sums[1])));
      }
      const DeviceArray device_x(x, dtype), device_w(w, DType::kF32), device_b(b, DType::kF32);
      const DeviceArray device_logits(logits, DType::kF32);
      const DeviceArray d(kPixels, DType::kF32), c(kPixels, DType::kF32);
      PredictDepth(device_x.data(), dtype, kPixels, channels, device_w.floats(), device_b.floats(),
                   d.floats(), c.floats(), stream());
      EXPECT_LT(RelativeError(d.Download(), depth), 2e-6);
      EXPECT_LT(RelativeError(c.Download(), confidence), 2e-6);
      DepthActivation(device_logits.floats(), kPixels, d.floats(), c.floats(), stream());
      EXPECT_LT(RelativeError(d.Download(), depth), 2e-6);
      EXPECT_LT(RelativeError(c.Download(), confidence), 2e-6);
    }
  }
}

TEST_F(ElementwiseCheck, CameraHead) {
  constexpr int64_t kFrames = 3, kChannels = 20;
  const std::vector<float> modulation = Random(kFrames * 3 * kChannels, 1);
  const std::vector<float> plain = Random(kFrames * kChannels, 2);
  const std::vector<float> normed = Random(kFrames * kChannels, 3);
  const DeviceArray m(modulation, DType::kF32), p(plain, DType::kF32), n(normed, DType::kF32),
      x(kFrames * kChannels, DType::kF32);
  Modulate(m.floats(), p.floats(), n.floats(), x.floats(), kFrames, kChannels, stream());
  std::vector<float> expected = normed;
  for (int64_t i = 0; i < kFrames * kChannels; ++i) {
    const float* row = modulation.data() + i / kChannels * 3 * kChannels + i % kChannels;
    const size_t at = static_cast<size_t>(i);
    expected[at] += row[2 * kChannels] * (plain[at] * (1.0f + row[kChannels]) + row[0]);
  }
  EXPECT_LT(RelativeError(x.Download(), expected), 1e-6);

  const std::vector<float> raw = Random(kFrames * 9, 4);
  const DeviceArray device(raw, DType::kF32), poses(kFrames * 9, DType::kF32);
  ActivatePose(device.floats(), poses.floats(), kFrames, 9, 7, stream());
  std::vector<float> activated = raw;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (i % 9 >= 7) activated[i] = std::max(raw[i], 0.0f);
  }
  EXPECT_EQ(poses.Download(), activated);
}

std::vector<float> Resized(const ResizeShape& s, const std::vector<float>& x) {
  std::vector<float> y;
  const auto tap = [](int64_t index, int64_t out, int64_t in) {
    const double position =
        out > 1 ? static_cast<double>(index * (in - 1)) / static_cast<double>(out - 1) : 0.0;
    const int64_t low = std::min(static_cast<int64_t>(position), in - 1);
    return std::pair{low, position - static_cast<double>(low)};
  };
  const auto at = [&](int64_t row, int64_t column, int64_t channel) {
    row = std::min(row, s.in_rows - 1);
    column = std::min(column, s.in_columns - 1);
    return double{x[static_cast<size_t>((row * s.in_columns + column) * s.channels + channel)]};
  };
  for (int64_t i = 0; i < s.out_rows * s.out_columns * s.channels; ++i) {
    const int64_t channel = i % s.channels, pixel = i / s.channels;
    const auto [row, down] = tap(pixel / s.out_columns, s.out_rows, s.in_rows);
    const auto [column, across] = tap(pixel % s.out_columns, s.out_columns, s.in_columns);
    y.push_back(static_cast<float>((1 - down) * ((1 - across) * at(row, column, channel) +
                                                 across * at(row, column + 1, channel)) +
                                   down * ((1 - across) * at(row + 1, column, channel) +
                                           across * at(row + 1, column + 1, channel))));
  }
  return y;
}

TEST_F(ElementwiseCheck, BilinearResizeWithAndWithoutPositionMap) {
  for (const ResizeShape& s :
       {ResizeShape{4, 6, 9, 11, 16}, ResizeShape{27, 36, 54, 72, 32}, ResizeShape{5, 5, 5, 5, 8},
        ResizeShape{1, 1, 3, 4, 6}, ResizeShape{8, 7, 3, 2, 10}, ResizeShape{6, 5, 1, 1, 16}}) {
    for (const DType dtype : kFeatureTypes) {
      const std::vector<float> x = Rounded(Random(s.in_rows * s.in_columns * s.channels, 1), dtype);
      const std::vector<float> across = Random(s.out_columns * s.channels / 2, 2);
      const std::vector<float> down = Random(s.out_rows * s.channels / 2, 3);
      const std::vector<float> expected = Resized(s, x);
      const DeviceArray device(x, dtype), a(across, DType::kF32), d(down, DType::kF32);
      const DeviceArray y(static_cast<int64_t>(expected.size()), dtype);
      SCOPED_TRACE(testing::Message() << s.in_rows << "x" << s.in_columns << " to " << s.out_rows
                                      << "x" << s.out_columns << " " << NameOf(dtype));
      // Positions are float32: a fraction of a pixel near 50 is known to 4e-6.
      const double tolerance = Tolerance(dtype) + 5e-6;
      ResizeBilinear(s, device.data(), dtype, {}, y.data(), stream());
      EXPECT_LT(RelativeError(y.Download(), expected), tolerance);
      ResizeBilinear(s, device.data(), dtype, {a.floats(), d.floats()}, y.data(), stream());
      EXPECT_LT(RelativeError(y.Download(),
                              WithPositionMap(expected, across, down, s.out_columns, s.channels)),
                tolerance);
    }
  }
}

}  // namespace
}  // namespace lingbot::ops::cuda
