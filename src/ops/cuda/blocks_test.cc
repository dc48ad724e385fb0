#include <algorithm>

#include "ops/cuda/layer_norm.h"
#include "ops/cuda/norm_rotate.h"
#include "ops/cuda/test_util.h"

namespace lingbot::ops::cuda {
namespace {

// A normalised row, in double.
std::vector<double> Normalized(const float* x, int64_t count, const std::vector<float>& gamma,
                               const std::vector<float>& beta, double eps) {
  double mean = 0.0, variance = 0.0;
  for (int64_t i = 0; i < count; ++i) mean += x[i];
  mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<double>(count);
  std::vector<double> y(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const size_t c = static_cast<size_t>(i);
    y[c] = (x[i] - mean) / std::sqrt(variance + eps) * gamma[c] + beta[c];
  }
  return y;
}

class LayerNormCheck : public DeviceTest {};

TEST_F(LayerNormCheck, AgreesWithPlainLoops) {
  constexpr double kEps = 1e-5;
  struct Case {
    int64_t rows, channels, group_rows;
  };
  for (const Case& c : {Case{5, 1024, 0}, Case{33, 2048, 0}, Case{7, 128, 0}, Case{12, 1024, 4},
                        Case{12, 50, 3}, Case{1, 9, 0}, Case{3, 4096, 0}}) {
    for (const int64_t pad : {0, 4, 3}) {
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
        const int64_t stride = c.channels + pad;
        const int64_t group = c.group_rows > 0 ? c.group_rows : c.rows;
        const RowLayout layout{stride, group * stride + 2 * stride};  // a gap behind every group
        const int64_t total = c.rows / group * layout.group_stride;
        const std::vector<float> x = Random(total, 1), gamma = Random(c.channels, 2),
                                 beta = Random(c.channels, 3);
        std::vector<float> expected(static_cast<size_t>(total), 0.5f);
        for (int64_t row = 0; row < c.rows; ++row) {
          const int64_t offset = row / group * layout.group_stride + row % group * stride;
          const auto y = Normalized(x.data() + offset, c.channels, gamma, beta, kEps);
          std::copy(y.begin(), y.end(), expected.begin() + offset);
        }
        const DeviceArray device_x(x, DType::kF32), g(gamma, DType::kF32), b(beta, DType::kF32);
        const DeviceArray y(std::vector<float>(static_cast<size_t>(total), 0.5f), dtype);
        LayerNorm({c.rows, c.channels, c.group_rows, layout, layout}, device_x.floats(), g.floats(),
                  b.floats(), static_cast<float>(kEps), y.data(), dtype, stream());
        SCOPED_TRACE(testing::Message() << c.rows << "x" << c.channels << " groups of " << group
                                        << " pad " << pad << " " << NameOf(dtype));
        EXPECT_LT(RelativeError(y.Download(), expected), Tolerance(dtype));
        if (dtype != DType::kF32) continue;
        LayerNorm({c.rows, c.channels, c.group_rows, layout, layout}, device_x.floats(), g.floats(),
                  b.floats(), static_cast<float>(kEps), device_x.data(), dtype, stream());
        for (const int64_t row : {int64_t{0}, c.rows - 1}) {
          const size_t at =
              static_cast<size_t>(row / group * layout.group_stride + row % group * stride);
          EXPECT_NEAR(device_x.Download()[at], expected[at], 1e-5) << "in place, row " << row;
        }
      }
    }
  }
}

TEST_F(LayerNormCheck, OneRowWithALargeMeanKeepsItsVariance) {
  std::vector<float> x = Random(1024, 1);
  for (float& value : x) value += 1000.0f;
  const std::vector<float> ones(1024, 1.0f), zeros(1024, 0.0f);
  const auto exact = Normalized(x.data(), 1024, ones, zeros, 1e-5);
  const DeviceArray device_x(x, DType::kF32), g(ones, DType::kF32), b(zeros, DType::kF32),
      y(1024, DType::kF32);
  LayerNorm({1, 1024, 0, {1024, 0}, {1024, 0}}, device_x.floats(), g.floats(), b.floats(), 1e-5f,
            y.data(), DType::kF32, stream());
  EXPECT_LT(RelativeError(y.Download(), std::vector<float>(exact.begin(), exact.end())), 1e-3);
}

struct RotaryCase {
  int64_t rows, heads, head_dim, table_rows;
  Pairing pairing;
  DType dtype, result;
};

// A qkv activation, norms and a table, and what must become of them.
struct Rotary {
  explicit Rotary(const RotaryCase& c)
      : size(c),
        width(c.heads * c.head_dim),
        qkv(Rounded(Random(c.rows * 3 * width, 1), c.dtype)),
        cos(Random(c.table_rows * c.head_dim / 2, 2)),
        sin(Random(c.table_rows * c.head_dim / 2, 3)),
        norms{Random(c.head_dim, 4), Random(c.head_dim, 5), Random(c.head_dim, 6),
              Random(c.head_dim, 7)} {}

  // Head `head` of part 0 (q) or 1 (k) of a row.
  std::vector<double> Turned(int64_t row, int part, int64_t head) const {
    const int64_t pairs = size.head_dim / 2;
    std::vector<double> y = Normalized(qkv.data() + (row * 3 + part) * width + head * size.head_dim,
                                       size.head_dim, norms[2 * part], norms[2 * part + 1], 1e-5);
    const std::vector<double> x = y;
    for (int64_t p = 0; p < pairs; ++p) {
      int64_t first = 2 * p, second = 2 * p + 1;
      if (size.pairing == Pairing::kHalvesOfHalf) {
        first = p < pairs / 2 ? p : pairs + p - pairs / 2;
        second = first + pairs / 2;
      }
      const size_t at = static_cast<size_t>(row % size.table_rows * pairs + p);
      const double a = x[static_cast<size_t>(first)], b = x[static_cast<size_t>(second)];
      y[static_cast<size_t>(first)] = a * cos[at] - b * sin[at];
      y[static_cast<size_t>(second)] = b * cos[at] + a * sin[at];
    }
    return y;
  }

  RotaryCase size;
  int64_t width;
  std::vector<float> qkv, cos, sin;
  std::vector<float> norms[4];
};

struct RotaryOnDevice {
  explicit RotaryOnDevice(const Rotary& r)
      : qkv(r.qkv, r.size.dtype),
        cos(r.cos, DType::kF32),
        sin(r.sin, DType::kF32),
        q_gamma(r.norms[0], DType::kF32),
        q_beta(r.norms[1], DType::kF32),
        k_gamma(r.norms[2], DType::kF32),
        k_beta(r.norms[3], DType::kF32),
        rows{qkv.data(), r.size.dtype, r.size.result, r.size.rows, r.size.heads, r.size.head_dim},
        head_norms{q_gamma.floats(), q_beta.floats(), k_gamma.floats(), k_beta.floats(), 1e-5f},
        table{r.size.pairing, cos.floats(), sin.floats(), r.size.table_rows} {}

  DeviceArray qkv, cos, sin, q_gamma, q_beta, k_gamma, k_beta;
  QkvRows rows;
  HeadNorms head_norms;
  RotaryRows table;
};

class NormRotateCheck : public DeviceTest {
 protected:
  static std::vector<RotaryCase> Cases() {
    std::vector<RotaryCase> cases;
    for (const Pairing pairing : {Pairing::kAdjacent, Pairing::kHalvesOfHalf}) {
      for (const auto& [dtype, result] :
           {std::pair(DType::kBF16, DType::kBF16), std::pair(DType::kF32, DType::kF32),
            std::pair(DType::kF16, DType::kBF16)}) {
        cases.push_back({13, 3, 64, 5, pairing, dtype, result});
        cases.push_back({9, 2, 128, 9, pairing, dtype, result});
        cases.push_back({7, 16, 64, 7, pairing, dtype, result});
        cases.push_back({10, 2, 24, 5, pairing, dtype, result});
        cases.push_back({3, 5, 4, 2, pairing, dtype, result});
      }
    }
    return cases;
  }
};

TEST_F(NormRotateCheck, InPlaceTurnsQAndKAndLeavesTheValueOfV) {
  for (const RotaryCase& c : Cases()) {
    const Rotary rotary(c);
    const RotaryOnDevice device(rotary);
    std::vector<float> expected = rotary.qkv;
    for (int64_t row = 0; row < c.rows; ++row) {
      for (int part = 0; part < 2; ++part) {
        for (int64_t head = 0; head < c.heads; ++head) {
          const auto y = rotary.Turned(row, part, head);
          std::copy(y.begin(), y.end(),
                    expected.begin() + (row * 3 + part) * rotary.width + head * c.head_dim);
        }
      }
    }
    NormRotate(device.rows, device.head_norms, device.table, stream());
    SCOPED_TRACE(testing::Message() << c.heads << " heads of " << c.head_dim << " pairing "
                                    << static_cast<int>(c.pairing) << " " << NameOf(c.dtype)
                                    << " to " << NameOf(c.result));
    EXPECT_LT(RelativeError(device.qkv.DownloadAs(c.result), expected), Tolerance(c.result));
  }
}

TEST_F(NormRotateCheck, ToCacheWritesRowsWhereTheOffsetsSay) {
  for (const RotaryCase& c : Cases()) {
    for (const DType storage : {DType::kBF16, DType::kF32}) {
      const Rotary rotary(c);
      const RotaryOnDevice device(rotary);
      // Rows backwards with gaps, in planes that are one allocation: the interleaved layout.
      const int64_t plane = (2 * c.rows + 3) * rotary.width;
      const std::vector<float> empty(static_cast<size_t>(2 * plane), 0.5f);
      const DeviceArray cache(empty, storage);
      std::vector<int64_t> offsets;
      for (int64_t row = 0; row < c.rows; ++row) {
        offsets.push_back((2 * (c.rows - row) + 1) * rotary.width);
      }
      const DeviceArray device_offsets = DeviceArray::Integers(offsets);

      std::vector<float> expected = empty, expected_q;
      for (int64_t row = 0; row < c.rows; ++row) {
        for (int64_t head = 0; head < c.heads; ++head) {
          const int64_t in_row = head * c.head_dim;
          const auto q = rotary.Turned(row, 0, head), k = rotary.Turned(row, 1, head);
          const int64_t target = offsets[static_cast<size_t>(row)] + in_row;
          expected_q.insert(expected_q.end(), q.begin(), q.end());
          std::copy(k.begin(), k.end(), expected.begin() + target);
          std::copy_n(rotary.qkv.begin() + (row * 3 + 2) * rotary.width + in_row, c.head_dim,
                      expected.begin() + plane + target);
        }
      }
      NormRotateToCache(device.rows, device.head_norms, device.table,
                        {cache.data(), cache.at(plane), storage, device_offsets.as<int64_t>()},
                        stream());
      SCOPED_TRACE(testing::Message() << c.heads << " heads of " << c.head_dim << " pairing "
                                      << static_cast<int>(c.pairing) << " " << NameOf(c.dtype)
                                      << " to " << NameOf(storage));
      const std::vector<float> qkv = device.qkv.DownloadAs(c.result);
      std::vector<float> q;
      for (int64_t row = 0; row < c.rows; ++row) {
        const auto first = qkv.begin() + row * 3 * rotary.width;
        q.insert(q.end(), first, first + rotary.width);
      }
      EXPECT_LT(RelativeError(q, expected_q), Tolerance(c.result));
      EXPECT_LT(RelativeError(cache.Download(), expected), Tolerance(storage));
    }
  }
}

TEST_F(NormRotateCheck, StoreKvCopiesBothParts) {
  constexpr int64_t kRows = 3, kHeads = 2, kDim = 12, kWidth = kHeads * kDim;
  const std::vector<float> qkv = Random(kRows * 3 * kWidth, 1);
  const DeviceArray device(qkv, DType::kF32), k(4 * kWidth, DType::kF32),
      v(4 * kWidth, DType::kF32);
  const DeviceArray offsets = DeviceArray::Integers(std::vector<int64_t>{2 * kWidth, 0, kWidth});
  StoreKv({device.data(), DType::kF32, DType::kF32, kRows, kHeads, kDim},
          {k.data(), v.data(), DType::kF32, offsets.as<int64_t>()}, stream());
  const std::vector<float> got_k = k.Download(), got_v = v.Download();
  EXPECT_EQ(got_k[2 * kWidth], qkv[kWidth]);
  EXPECT_EQ(got_v[2 * kWidth + 5], qkv[2 * kWidth + 5]);
  EXPECT_EQ(got_k[kWidth + 7], qkv[7 * kWidth + 7]);
  EXPECT_EQ(got_v[3], qkv[5 * kWidth + 3]);
  EXPECT_TRUE(std::isnan(got_k[3 * kWidth]));
}

TEST_F(NormRotateCheck, TimeAnglesGoToTheFirstColumnsOfEveryRowOfTheirFrame) {
  constexpr int64_t kFrames = 2, kTokens = 5, kTime = 3, kPairs = 8;
  const std::vector<float> angles = Random(kFrames * 2 * kTime, 1);
  const std::vector<float> table = Random(kFrames * kTokens * kPairs, 2);
  const DeviceArray device(angles, DType::kF32), cos(table, DType::kF32), sin(table, DType::kF32);
  WriteTimeAngles(device.floats(), kFrames, kTokens, kTime, kPairs, cos.floats(), sin.floats(),
                  stream());
  const std::vector<float> got_cos = cos.Download(), got_sin = sin.Download();
  for (int64_t i = 0; i < kFrames * kTokens * kPairs; ++i) {
    const int64_t column = i % kPairs, frame = i / kPairs / kTokens;
    const size_t at = static_cast<size_t>(i);
    const size_t angle = static_cast<size_t>(frame * 2 * kTime + column);
    EXPECT_EQ(got_cos[at], column < kTime ? angles[angle] : table[at]);
    EXPECT_EQ(got_sin[at], column < kTime ? angles[angle + kTime] : table[at]);
  }
}

}  // namespace
}  // namespace lingbot::ops::cuda
