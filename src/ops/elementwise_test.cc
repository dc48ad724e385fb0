#include "ops/elementwise.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

TEST(Elementwise, ReluKeepsNaN) {
  const Buffer x = RandomFloats({100}, 1);
  x.data<float>()[7] = NAN;
  const Buffer before = RandomFloats({100}, 1);
  Context context(2, 0);
  Relu(context, x.view());
  for (int i = 0; i < 100; ++i) {
    if (i == 7) continue;
    EXPECT_EQ(x.data<float>()[i], std::max(before.data<float>()[i], 0.0f));
  }
  EXPECT_TRUE(std::isnan(x.data<float>()[7]));
}

TEST(Elementwise, SiluAndAddFollowTheirFormulas) {
  const Buffer x = RandomFloats({100000}, 1);
  const Buffer y = RandomFloats({100000}, 2);
  Context context(2, 0);
  Silu(context, x.view());
  Add(context, x.view(), y.view());
  const Buffer x0 = RandomFloats({100000}, 1);
  const Buffer y0 = RandomFloats({100000}, 2);
  for (int i = 0; i < 100000; i += 777) {
    const double v = x0.data<float>()[i];
    EXPECT_NEAR(y.data<float>()[i], y0.data<float>()[i] + v / (1 + std::exp(-v)), 1e-6);
  }
  EXPECT_THROW(Add(context, x.view(), y.view().Slice(0, 0, 5)), Error);
}

TEST(Elementwise, AddRowsWrapsAround) {
  const Buffer table = RandomFloats({3, 4}, 1);
  const Buffer y(DType::kF32, {7, 4});
  std::fill_n(y.data<float>(), 28, 1.0f);
  Context context(1, 0);
  AddRows(context, table.view(), y.view());
  EXPECT_EQ(y.view()[5].data<float>()[2], 1.0f + table.view()[2].data<float>()[2]);
}

TEST(Elementwise, PositionMapIsSeparable) {
  const Buffer across = RandomFloats({5, 2}, 1);
  const Buffer down = RandomFloats({3, 2}, 2);
  const Buffer x(DType::kF32, {3, 5, 4});
  std::fill_n(x.data<float>(), 60, 0.0f);
  Context context(2, 0);
  AddPositionMap(context, across.view(), down.view(), x.view());
  EXPECT_EQ(x.view()[2][4].data<float>()[1], across.view()[4].data<float>()[1]);
  EXPECT_EQ(x.view()[2][4].data<float>()[3], down.view()[2].data<float>()[1]);
}

TEST(Elementwise, PatchesAreChannelRowColumn) {
  const Buffer image = RandomFloats({3, 4, 6}, 1);
  const Buffer out(DType::kF32, {6, 12});
  const float mean[3] = {0.1f, 0.2f, 0.3f};
  const float deviation[3] = {2.0f, 3.0f, 4.0f};
  Context context(1, 0);
  ExtractPatches(context, image.view(), 2, mean, deviation, out.view());
  // Patch (1, 2), channel 2, pixel (1, 0) of the patch: image row 3, column 4.
  EXPECT_EQ(out.view()[5].data<float>()[2 * 4 + 2],
            (image.view()[2][3].data<float>()[4] - 0.3f) / 4.0f);
}

TEST(Elementwise, DepthToSpaceInterleavesKernelPositions) {
  const Buffer x = RandomFloats({2, 3, 2 * 2 * 5}, 1);
  const Buffer y(DType::kF32, {4, 6, 5});
  Context context(1, 0);
  DepthToSpace(context, x.view(), 2, y.view());
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 6; ++c) {
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(y.view()[r][c].data<float>()[k],
                  x.view()[r / 2][c / 2].data<float>()[((r % 2) * 2 + c % 2) * 5 + k]);
      }
    }
  }
}

TEST(Elementwise, DepthActivation) {
  const Buffer x = RandomFloats({9, 2}, 1);
  const Buffer depth(DType::kF32, {9});
  const Buffer confidence(DType::kF32, {9});
  Context context(1, 0);
  DepthActivation(context, x.view(), depth.view(), confidence.view());
  EXPECT_NEAR(depth.data<float>()[4], std::exp(x.view()[4].data<float>()[0]), 1e-6);
  EXPECT_NEAR(confidence.data<float>()[4], 1 + std::exp(x.view()[4].data<float>()[1]), 1e-6);
}

}  // namespace
}  // namespace lingbot::ops
