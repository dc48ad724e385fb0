#include "ops/conv.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/cpu/reference/conv.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

struct Case {
  int64_t rows, columns, in, out;
  int size, stride;
};

class ConvTest : public testing::TestWithParam<std::tuple<Case, ConvEpilogue>> {};

std::span<const float> Values(const Buffer& buffer) {
  return {buffer.data<float>(), static_cast<size_t>(buffer.shape().elements())};
}

TEST_P(ConvTest, AgreesWithPlainLoops) {
  const auto [c, epilogue] = GetParam();
  const Buffer x = RandomFloats({c.rows, c.columns, c.in}, 1);
  const Buffer weight = RandomFloats({c.out, c.in, c.size, c.size}, 2);
  const Buffer bias = RandomFloats({c.out}, 3);
  const ConvWeights packed(Values(weight), Values(bias), c.out, c.in, c.size, c.stride, {});
  const Shape out = {packed.OutputSize(c.rows), packed.OutputSize(c.columns), c.out};
  const Buffer y = RandomFloats(out, 4);
  const Buffer expected = RandomFloats(out, 4);
  reference::Conv2d(x.view(), weight.view(), bias.data<float>(), c.stride, epilogue,
                    expected.view());
  Context context(2, Conv2dWorkspaceBytes({}, c.rows, c.columns, c.in, c.out, c.size, c.stride));
  Conv2d(context, x.view(), packed, epilogue, y.view());
  EXPECT_LT(RelativeL2(y.view(), expected.view()), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvTest,
    testing::Combine(testing::Values(Case{4, 6, 32, 32, 3, 1}, Case{1, 1, 16, 8, 3, 1},
                                     Case{9, 12, 64, 64, 3, 2}, Case{4, 5, 24, 40, 3, 2},
                                     Case{17, 23, 20, 12, 3, 1}, Case{8, 8, 32, 2, 1, 1}),
                     testing::Values(ConvEpilogue::kStore, ConvEpilogue::kRelu,
                                     ConvEpilogue::kAccumulate)));

TEST(Conv2d, RejectsMisfits) {
  const Buffer x = RandomFloats({4, 4, 8}, 1);
  const Buffer weight = RandomFloats({8, 8, 3, 3}, 2);
  const ConvWeights packed(Values(weight), {}, 8, 8, 3, 2, {});
  Context context(1, 1 << 20);
  const Buffer wrong(DType::kF32, {4, 4, 8});
  EXPECT_THROW(Conv2d(context, x.view(), packed, ConvEpilogue::kStore, wrong.view()), Error);
}

}  // namespace
}  // namespace lingbot::ops
