#include "geometry/point_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lingbot/error.h"

namespace lingbot {
namespace {

TEST(QuantileTest, KeepsTheUpperPartWithTies) {
  std::vector<float> values = {4, 1, 3, 2};
  EXPECT_EQ(QuantileOf(values, 0.5), 3.0f);  // 3 and 4 remain
  EXPECT_EQ(QuantileOf(values, 0.0), 1.0f);
  EXPECT_EQ(QuantileOf(values, 0.999), 4.0f);
  std::vector<float> same(7, 1.0f);
  EXPECT_EQ(QuantileOf(same, 0.9), 1.0f);
  std::vector<float> none;
  EXPECT_THROW(QuantileOf(none, 0.5), Error);
}

TEST(DepthEdgeTest, BothSidesOfAStep) {
  const std::vector<float> depth = {1, 1, 2, 2,  //
                                    1, 1, 2, 2};
  for (int row = 0; row < 2; ++row) {
    EXPECT_FALSE(IsDepthEdge(depth, 2, 4, row, 0, 0.05));
    EXPECT_TRUE(IsDepthEdge(depth, 2, 4, row, 1, 0.05));
    EXPECT_TRUE(IsDepthEdge(depth, 2, 4, row, 2, 0.05));
    EXPECT_FALSE(IsDepthEdge(depth, 2, 4, row, 3, 0.05));
    EXPECT_FALSE(IsDepthEdge(depth, 2, 4, row, 1, 1.5));
  }
}

TEST(DepthEdgeTest, InvalidNeighboursAreNoEdges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> depth = {nan, 1, 0, -1, 1, std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(IsDepthEdge(depth, 1, 6, 0, 1, 0.05));
  EXPECT_FALSE(IsDepthEdge(depth, 1, 6, 0, 4, 0.05));
}

TEST(PointFilterTest, UsableDepth) {
  EXPECT_TRUE(IsUsableDepth(1e-30f));
  for (const float bad : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(IsUsableDepth(bad)) << bad;
  }
}

TEST(PointFilterTest, OptionsOutOfRange) {
  const auto refused = [](double quantile, std::optional<float> minimum, double edge) {
    PointFilterOptions options;
    options.confidence_quantile = quantile;
    options.min_confidence = minimum;
    options.depth_edge = edge;
    EXPECT_THROW(CheckPointFilterOptions(options), Error);
  };
  refused(1.0, {}, 0);
  refused(-0.1, {}, 0);
  refused(std::nan(""), {}, 0);
  refused(0.5, std::numeric_limits<float>::quiet_NaN(), 0);
  refused(0.5, {}, -1.0);
  refused(0.5, {}, std::numeric_limits<double>::infinity());
  CheckPointFilterOptions({});
}

}  // namespace
}  // namespace lingbot
