#include "ops/resize.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

TEST(ResizeBilinear, KeepsCornersAndReproducesPlanes) {
  // A function that is linear in row and column is reproduced exactly by bilinear interpolation.
  const Buffer x(DType::kF32, {4, 6, 2});
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 6; ++c) {
      x.view()[r][c].data<float>()[0] = static_cast<float>(3 * r + c);
      x.view()[r][c].data<float>()[1] = static_cast<float>(r - 2 * c);
    }
  }
  for (const auto& [rows, columns] : {std::pair{9, 11}, {4, 6}, {2, 3}, {1, 1}, {56, 84}}) {
    const Buffer y(DType::kF32, {rows, columns, 2});
    Context context(2, 1 << 16);
    ResizeBilinear(context, x.view(), y.view());
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        const double row = rows > 1 ? 3.0 * r / (rows - 1) : 0.0;
        const double column = columns > 1 ? 5.0 * c / (columns - 1) : 0.0;
        EXPECT_NEAR(y.view()[r][c].data<float>()[0], 3 * row + column, 2e-5);
        EXPECT_NEAR(y.view()[r][c].data<float>()[1], row - 2 * column, 2e-5);
      }
    }
  }
}

TEST(ResizeBilinear, OneRowOrColumnIsSpread) {
  const Buffer x = RandomFloats({1, 1, 3}, 1);
  const Buffer y(DType::kF32, {5, 4, 3});
  Context context(1, 1 << 16);
  ResizeBilinear(context, x.view(), y.view());
  for (int i = 0; i < 60; ++i) EXPECT_EQ(y.data<float>()[i], x.data<float>()[i % 3]);
}

TEST(ResizeBicubic, KeepsConstantsAndIdentity) {
  const Buffer constant(DType::kF32, {8, 8, 1});
  for (int i = 0; i < 64; ++i) constant.data<float>()[i] = 2.5f;
  const Buffer y(DType::kF32, {3, 13, 1});
  ResizeBicubicAntialiased(constant.view(), y.view());
  for (int i = 0; i < 39; ++i) EXPECT_NEAR(y.data<float>()[i], 2.5f, 1e-6);

  const Buffer x = RandomFloats({5, 7, 4}, 1);
  const Buffer same(DType::kF32, {5, 7, 4});
  ResizeBicubicAntialiased(x.view(), same.view());
  EXPECT_EQ(RelativeL2(same.view(), x.view()), 0.0);
}

TEST(ResizeBicubic, UsesTheKernelWithAMinusOneHalf) {
  // Upscaling an impulse by 2: at a distance of 0.25 and 0.75 pixels the kernel with a = -0.5 has
  // the values below; the one with a = -0.75 (PyTorch without antialiasing) would give 0.8789 and
  // 0.2617.
  const Buffer x(DType::kF32, {1, 9, 1});
  for (int i = 0; i < 9; ++i) x.data<float>()[i] = i == 4 ? 1.0f : 0.0f;
  const Buffer y(DType::kF32, {1, 18, 1});
  ResizeBicubicAntialiased(x.view(), y.view());
  EXPECT_NEAR(y.data<float>()[8], 0.8671875, 1e-6);
  EXPECT_NEAR(y.data<float>()[10], 0.2265625, 1e-6);
  const Buffer wrong(DType::kF32, {1, 18, 2});
  EXPECT_THROW(ResizeBicubicAntialiased(x.view(), wrong.view()), Error);
}

}  // namespace
}  // namespace lingbot::ops
