#include "ops/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "lingbot/error.h"
#include "ops/cpu/reference/linear.h"
#include "ops/packed_weights.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

struct Case {
  int64_t rows, in, out;
};

class LinearTest : public testing::TestWithParam<std::tuple<Case, DType, LinearEpilogue>> {};

std::span<const float> Values(const Buffer& buffer) {
  return {buffer.data<float>(), static_cast<size_t>(buffer.shape().elements())};
}

TEST_P(LinearTest, AgreesWithPlainLoops) {
  const auto [size, storage, epilogue] = GetParam();
  const Buffer x = RandomFloats({size.rows, size.in}, 1);
  const Buffer weight = RandomFloats({size.out, size.in}, 2);
  const Buffer bias = RandomFloats({size.out}, 3);
  const Buffer y = RandomFloats({size.rows, size.out}, 4);
  const Buffer expected = RandomFloats({size.rows, size.out}, 4);
  reference::Linear(x.view(), weight.view(), bias.data<float>(), epilogue, expected.view());

  const LinearWeights packed(Values(weight), Values(bias), {}, size.out, size.in,
                             {.storage = storage});
  Context context(2, LinearWorkspaceBytes({.storage = storage}, size.rows, size.in, size.out));
  Linear(context, x.view(), packed, epilogue, y.view());
  const double tolerance = storage == DType::kF32 ? 2e-6 : 1e-2;
  EXPECT_LT(RelativeL2(y.view(), expected.view()), tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LinearTest,
    testing::Combine(testing::Values(Case{1, 18, 27}, Case{1, 256, 768}, Case{7, 64, 64},
                                     Case{114, 128, 384}, Case{783, 256, 100}, Case{5, 9, 256},
                                     Case{10, 1024, 2100}),
                     testing::Values(DType::kF32, DType::kBF16),
                     testing::Values(LinearEpilogue::kStore, LinearEpilogue::kGelu,
                                     LinearEpilogue::kAccumulate)));

TEST(Linear, FoldsTheOutputScaleIntoWeightAndBias) {
  const Buffer x = RandomFloats({6, 32}, 1);
  const Buffer weight = RandomFloats({24, 32}, 2);
  const Buffer bias = RandomFloats({24}, 3);
  const Buffer scale = RandomFloats({24}, 5);
  const Buffer expected(DType::kF32, {6, 24});
  reference::Linear(x.view(), weight.view(), bias.data<float>(), LinearEpilogue::kStore,
                    expected.view());
  for (int64_t i = 0; i < 6 * 24; ++i) expected.data<float>()[i] *= scale.data<float>()[i % 24];

  const LinearWeights packed(Values(weight), Values(bias), Values(scale), 24, 32, {});
  const Buffer y(DType::kF32, {6, 24});
  Context context(1, 0);
  Linear(context, x.view(), packed, LinearEpilogue::kStore, y.view());
  EXPECT_LT(RelativeL2(y.view(), expected.view()), 2e-6);
}

TEST(Linear, HonoursRowStrides) {
  const Buffer wide_x = RandomFloats({5, 40}, 1);
  const Buffer wide_y = RandomFloats({5, 50}, 2);
  const Buffer weight = RandomFloats({16, 24}, 3);
  const LinearWeights packed(Values(weight), {}, {}, 16, 24, {});
  Context context(2, 0);
  const TensorView x = wide_x.view().Slice(1, 8, 32);
  const TensorView y = wide_y.view().Slice(1, 10, 26);
  const float before = wide_y.data<float>()[9];
  Linear(context, x, packed, LinearEpilogue::kStore, y);
  const Buffer expected(DType::kF32, {5, 16});
  reference::Linear(x, weight.view(), nullptr, LinearEpilogue::kStore, expected.view());
  for (int row = 0; row < 5; ++row) {
    for (int c = 0; c < 16; ++c) {
      EXPECT_NEAR(y[row].data<float>()[c], expected.view()[row].data<float>()[c], 1e-5);
    }
  }
  EXPECT_EQ(wide_y.data<float>()[9], before);
}

TEST(Linear, IsDeterministicAndRejectsMisfits) {
  const Buffer x = RandomFloats({33, 64}, 1);
  const Buffer weight = RandomFloats({64, 64}, 2);
  const LinearWeights packed(Values(weight), {}, {}, 64, 64, {.storage = DType::kBF16});
  Context context(2, LinearWorkspaceBytes({.storage = DType::kBF16}, 33, 64, 64));
  const Buffer first(DType::kF32, {33, 64});
  const Buffer second(DType::kF32, {33, 64});
  Linear(context, x.view(), packed, LinearEpilogue::kStore, first.view());
  Linear(context, x.view(), packed, LinearEpilogue::kStore, second.view());
  EXPECT_EQ(std::memcmp(first.data<float>(), second.data<float>(), first.bytes()), 0);
  EXPECT_THROW(
      Linear(context, x.view().Slice(1, 0, 32), packed, LinearEpilogue::kStore, first.view()),
      Error);
}

TEST(CentreForHalf, BringsTheLargestWeightNearAThousandByAPowerOfTwo) {
  const ThreadTeam team(2);
  const std::vector<float> weight = {1e-6f, -3e-6f, 2e-7f, 0.0f, 5e-8f, -1e-6f};  // three rows
  std::vector<float> factors = {1.0f, -0.5f, 4.0f};
  const float undo = CentreForHalf(weight, factors, team);
  int exponent = 0;
  EXPECT_EQ(std::frexp(undo, &exponent), 0.5f);
  EXPECT_EQ(factors[1] / factors[0], -0.5f);
  EXPECT_EQ(factors[0] * undo, 1.0f);
  const float largest = 4e-6f * factors[0];  // of row 2, by its factor
  EXPECT_GT(largest, 512.0f);
  EXPECT_LE(largest, 1024.0f);
}

TEST(CentreForHalf, LeavesWhatHasNoScale) {
  const ThreadTeam team(1);
  for (const float value : {0.0f, INFINITY, std::nanf("")}) {
    std::vector<float> factors = {2.0f};
    EXPECT_EQ(CentreForHalf(std::vector<float>{value, 0.0f}, factors, team), 1.0f);
    EXPECT_EQ(factors[0], 2.0f);
  }
  std::vector<float> tiny = {1.0f};
  const float undo = CentreForHalf(std::vector<float>{1e-44f}, tiny, team);
  EXPECT_GT(undo, 0.0f);
  EXPECT_TRUE(std::isfinite(tiny[0]));
}

}  // namespace
}  // namespace lingbot::ops
