#include "ops/rotary.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/layer_norm.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

// Angle of pair p for table row r.
double Angle(int64_t r, int64_t p) {
  return 0.37 * static_cast<double>(r) + 0.11 * static_cast<double>(p);
}

class RotaryTest : public testing::TestWithParam<RotaryPairing> {};

TEST_P(RotaryTest, NormalisesThenRotatesThePairsOfTheDefinition) {
  constexpr int64_t kTokens = 10, kRows = 5, kHeads = 3, kDim = 16;
  const Buffer qkv =
      RandomFloats({kTokens, 4, kHeads, kDim}, 1);  // x is a slice: strides are honoured
  const Buffer gamma = RandomFloats({kDim}, 2);
  const Buffer beta = RandomFloats({kDim}, 3);
  const Buffer cos(DType::kF32, {kRows, kDim / 2});
  const Buffer sin(DType::kF32, {kRows, kDim / 2});
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t p = 0; p < kDim / 2; ++p) {
      cos.data<float>()[r * kDim / 2 + p] = static_cast<float>(std::cos(Angle(r, p)));
      sin.data<float>()[r * kDim / 2 + p] = static_cast<float>(std::sin(Angle(r, p)));
    }
  }
  const TensorView all = qkv.view();
  const auto part = [&](int64_t index) {
    return TensorView(all.Slice(1, index, index + 1).raw(), DType::kF32, {kTokens, kHeads, kDim},
                      {all.stride(0), all.stride(2), 1});
  };
  const TensorView x = part(1);

  Context context(2, 0);
  const Buffer expected(DType::kF32, {kTokens, kHeads, kDim});
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const Buffer head(DType::kF32, {1, kDim});
      std::copy_n(x[t][h].data<float>(), kDim, head.data<float>());
      LayerNorm(context, head.view(), gamma.view(), beta.view(), 1e-5f, head.view());
      float* out = expected.view()[t][h].data<float>();
      for (int64_t p = 0; p < kDim / 2; ++p) {
        int64_t a = 2 * p, b = 2 * p + 1;
        if (GetParam() == RotaryPairing::kHalvesOfHalf) {
          a = p < 4 ? p : 8 + (p - 4);
          b = a + 4;
        }
        const double angle = Angle(t % kRows, p);
        const double u = head.data<float>()[a], v = head.data<float>()[b];
        out[a] = static_cast<float>(u * std::cos(angle) - v * std::sin(angle));
        out[b] = static_cast<float>(v * std::cos(angle) + u * std::sin(angle));
      }
    }
  }
  const float untouched = all[3][0][0].data<float>()[0];
  const HeadNorm norm{gamma.view(), beta.view(), 1e-5f};
  const HeadNorm plain{beta.view(), gamma.view(), 1e-5f};
  NormRotate(context, {x, part(2), part(3)}, norm, plain, {GetParam(), cos.view(), sin.view()});
  for (int64_t t = 0; t < kTokens; ++t) {
    EXPECT_LT(RelativeL2(x[t], expected.view()[t]), 1e-6);
  }
  EXPECT_EQ(all[3][0][0].data<float>()[0], untouched);
  EXPECT_THROW(NormRotate(context, {x, part(2), part(3)}, norm, norm,
                          {GetParam(), cos.view().Slice(1, 0, 4), sin.view()}),
               Error);
}

INSTANTIATE_TEST_SUITE_P(Pairings, RotaryTest,
                         testing::Values(RotaryPairing::kAdjacent, RotaryPairing::kHalvesOfHalf));

}  // namespace
}  // namespace lingbot::ops
