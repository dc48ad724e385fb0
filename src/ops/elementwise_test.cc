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

TEST(Elementwise, PredictDepthIsAProductAndItsActivation) {
  const Buffer x = RandomFloats({9, 8}, 1);
  const Buffer weight = RandomFloats({2, 8}, 2);
  const Buffer bias = RandomFloats({2}, 3);
  const LinearWeights weights({weight.data<float>(), 16}, {bias.data<float>(), 2}, {}, 2, 8, {});
  const Buffer depth(DType::kF32, {9});
  const Buffer confidence(DType::kF32, {9});
  Context context(1, PredictDepthWorkspaceBytes({}, 9));
  PredictDepth(context, x.view(), weights, depth.view(), confidence.view());
  for (int pixel = 0; pixel < 9; ++pixel) {
    double logits[2];
    for (int c = 0; c < 2; ++c) {
      logits[c] = bias.data<float>()[c];
      for (int i = 0; i < 8; ++i) {
        logits[c] += double{x.data<float>()[pixel * 8 + i]} * weight.data<float>()[c * 8 + i];
      }
    }
    EXPECT_NEAR(depth.data<float>()[pixel] / std::exp(logits[0]), 1, 1e-5);
    EXPECT_NEAR(confidence.data<float>()[pixel] / (1 + std::exp(logits[1])), 1, 1e-5);
  }
}

TEST(Elementwise, CopyRowsTakesStridesAndRepeatsOneRow) {
  const Buffer x = RandomFloats({4, 6}, 1);
  const Buffer y = RandomFloats({4, 10}, 2);
  const float before = y.data<float>()[2];
  Context context(2, 0);
  CopyRows(context, x.view(), y.view().Slice(1, 3, 9));
  EXPECT_EQ(y.view()[3].data<float>()[8], x.view()[3].data<float>()[5]);
  EXPECT_EQ(y.data<float>()[2], before);
  CopyRows(context, x.view().Slice(0, 1, 2), y.view().Slice(1, 3, 9));
  EXPECT_EQ(y.view()[3].data<float>()[4], x.view()[1].data<float>()[1]);
  EXPECT_THROW(CopyRows(context, x.view().Slice(0, 0, 3), y.view().Slice(1, 3, 9)), Error);
}

TEST(Elementwise, PoseFollowsItsFormulas) {
  const Buffer modulation = RandomFloats({2, 15}, 1);
  const Buffer plain = RandomFloats({2, 5}, 2);
  const Buffer normed = RandomFloats({2, 5}, 3);
  const Buffer x(DType::kF32, {2, 5});
  Context context(1, 0);
  Modulate(context, modulation.view(), plain.view(), normed.view(), x.view());
  const float* m = modulation.view()[1].data<float>();
  EXPECT_NEAR(x.view()[1].data<float>()[2],
              m[12] * (plain.view()[1].data<float>()[2] * (1 + m[7]) + m[2]) +
                  normed.view()[1].data<float>()[2],
              1e-6);
  const Buffer raw = RandomFloats({2, 9}, 4);
  raw.data<float>()[0] = raw.data<float>()[7] = -1.0f;
  const Buffer poses(DType::kF32, {2, 9});
  ActivatePose(context, raw.view(), poses.view());
  EXPECT_EQ(poses.data<float>()[0], -1.0f);
  EXPECT_EQ(poses.data<float>()[7], 0.0f);
}

}  // namespace
}  // namespace lingbot::ops
