#include "geometry/window_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lingbot/error.h"

namespace lingbot {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

double ScaleOf(const std::vector<float>& aligned, const std::vector<float>& window) {
  const DepthPair pair = {aligned, window};
  return MedianDepthScale({&pair, 1});
}

TEST(MedianDepthScaleTest, LowerMiddleElement) {
  EXPECT_EQ(ScaleOf({1, 2, 3, 4}, {1, 1, 1, 1}), 2.0);
  EXPECT_EQ(ScaleOf({5, 1, 3}, {1, 1, 1}), 3.0);
  EXPECT_EQ(ScaleOf({4, 2}, {1, 1}), 2.0);
}

TEST(MedianDepthScaleTest, IgnoresWhatIsNotFiniteOrNearlyZero) {
  EXPECT_EQ(ScaleOf({7, kNoNumber, 9, 9, 9, kInfinite}, {1, 1, kNoNumber, 1.1e-7f, 0, 1}), 7.0);
  EXPECT_EQ(ScaleOf({kNoNumber, 5, 5}, {1, 0, kInfinite}), 1.0);  // none left
  EXPECT_EQ(ScaleOf({}, {}), 1.0);
  EXPECT_EQ(MedianDepthScale({}), 1.0);
  EXPECT_EQ(ScaleOf({2.4e-7f, 9}, {1.2e-7f, 0}), 2.0);  // just above the limit
  EXPECT_EQ(ScaleOf({-6}, {-2}), 3.0);                  // the limit is on the magnitude
}

TEST(MedianDepthScaleTest, Clamps) {
  EXPECT_EQ(ScaleOf({1e6f}, {1}), 1e3);
  EXPECT_EQ(ScaleOf({1e-6f}, {1}), 1e-3);
  EXPECT_EQ(ScaleOf({-5}, {1}), 1e-3);
  EXPECT_EQ(ScaleOf({3e38f}, {1e-6f}), 1e3);  // the ratio overflows
}

TEST(MedianDepthScaleTest, PixelsOfAllPairsCountAlike) {
  const std::vector<float> ones(5, 1.0f);
  const std::vector<float> a = {1, 1, 1};
  const std::vector<float> b = {9, 9, 9, 9, 9};
  const DepthPair pairs[] = {{a, {ones.data(), 3}}, {b, ones}};
  EXPECT_EQ(MedianDepthScale(pairs), 9.0);
  EXPECT_THROW(ScaleOf({1, 2}, {1}), Error);
}

// Poses and depths of a synthetic stream, and the same as another window would see them: p_world =
// s R p_window + t.
struct Similarity {
  double scale = 2.75;
  Eigen::Quaterniond rotation = Eigen::Quaterniond(0.3, -0.5, 0.7, 0.2).normalized();
  Eigen::Vector3d translation = {4.0, -3.0, 0.5};
};

RigidPose TruePose(int i) {
  const Eigen::Quaterniond q(1.0, 0.1 * i, -0.05 * i, 0.2);
  return {q.normalized(), Eigen::Vector3d(0.3 * i, std::sin(i), 1.0 - 0.2 * i)};
}

PoseEncoding Encode(const RigidPose& pose) {
  return WithRigidPose({0, 0, 0, 0, 0, 0, 1, 0.9f, 1.1f}, pose);
}

PoseEncoding InWindow(const Similarity& similarity, int i) {
  const RigidPose pose = TruePose(i);
  const Eigen::Quaterniond inverse = similarity.rotation.conjugate();
  return Encode({inverse * pose.rotation,
                 inverse * (pose.center - similarity.translation) / similarity.scale});
}

TEST(WindowAlignmentTest, RecoversAKnownSimilarity) {
  const Similarity truth;
  std::vector<float> aligned_depth, window_depth;
  for (int i = 0; i < 101; ++i) {
    aligned_depth.push_back(1.0f + 0.1f * static_cast<float>(i));
    window_depth.push_back(static_cast<float>(aligned_depth.back() / truth.scale));
  }
  const WindowAlignment alignment =
      AlignWindow(Encode(TruePose(3)), InWindow(truth, 3), ScaleOf(aligned_depth, window_depth));
  EXPECT_NEAR(alignment.scale, truth.scale, 1e-6);
  EXPECT_LT(alignment.rotation.angularDistance(truth.rotation), 1e-6);
  EXPECT_LT((alignment.translation - truth.translation).norm(), 1e-5);
  for (int i = 0; i < 20; ++i) {
    const PoseEncoding expected = Encode(TruePose(i));
    const PoseEncoding actual = AlignPose(alignment, InWindow(truth, i));
    for (int j = 0; j < 9; ++j) EXPECT_NEAR(actual[j], expected[j], 1e-5) << i << " " << j;
  }
  AlignDepth(alignment, window_depth);
  for (size_t i = 0; i < aligned_depth.size(); ++i) {
    EXPECT_NEAR(window_depth[i], aligned_depth[i], 1e-5);
  }
}

TEST(WindowAlignmentTest, ChainsThroughAlignedPoses) {
  // Window 1 maps to window 0 by a, window 2 to window 1's aligned frame by b, although window 2
  // never met window 0.
  Similarity a;
  Similarity b;
  b.scale = 0.4;
  b.rotation = Eigen::Quaterniond(-0.2, 0.9, 0.1, -0.4).normalized();
  b.translation = {-1, 2, 5};
  const WindowAlignment first = AlignWindow(Encode(TruePose(7)), InWindow(a, 7), a.scale);
  const WindowAlignment second =
      AlignWindow(AlignPose(first, InWindow(a, 14)), InWindow(b, 14), b.scale);
  const PoseEncoding expected = Encode(TruePose(20));
  const PoseEncoding actual = AlignPose(second, InWindow(b, 20));
  for (int j = 0; j < 9; ++j) EXPECT_NEAR(actual[j], expected[j], 2e-5) << j;
}

TEST(WindowAlignmentTest, FirstWindowStillGetsUnitQuaternions) {
  const PoseEncoding pose = {1, 2, 3, 0.0f, -3.0f, 0.0f, -4.0f, 0.5f, 0.6f};
  const PoseEncoding expected = {1, 2, 3, 0.0f, 0.6f, 0.0f, 0.8f, 0.5f, 0.6f};
  const PoseEncoding actual = AlignPose(WindowAlignment{}, pose);
  for (int j = 0; j < 9; ++j) EXPECT_NEAR(actual[j], expected[j], 1e-7);
}

TEST(WindowAlignmentTest, TransformIsReportedWithoutScale) {
  const Similarity truth;
  const WindowAlignment alignment = {truth.scale, truth.rotation, truth.translation};
  const auto matrix = TransformMatrix(alignment);
  const Eigen::Matrix3d rotation = truth.rotation.toRotationMatrix();
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(matrix[4 * r + c], rotation(r, c), 1e-7);
    EXPECT_NEAR(matrix[4 * r + 3], truth.translation[r], 1e-7);
    EXPECT_EQ(matrix[12 + r], 0.0f);
  }
  EXPECT_EQ(matrix[15], 1.0f);
  const auto identity = TransformMatrix(WindowAlignment{});
  for (int i = 0; i < 16; ++i) EXPECT_EQ(identity[i], i % 5 == 0 ? 1.0f : 0.0f);
}

}  // namespace
}  // namespace lingbot
