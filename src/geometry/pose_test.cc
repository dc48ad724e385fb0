#include "geometry/pose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lingbot {
namespace {

PoseEncoding PoseWithQuaternion(float x, float y, float z, float w) {
  return {1.0f, -2.0f, 3.0f, x, y, z, w, 1.0f, 1.2f};
}

// The textbook formula with the squared norm in the denominator, independent of Eigen.
std::array<double, 9> RotationByFormula(double x, double y, double z, double w) {
  const double s = 2.0 / (x * x + y * y + z * z + w * w);
  return {1 - s * (y * y + z * z), s * (x * y - z * w),     s * (x * z + y * w),
          s * (x * y + z * w),     1 - s * (x * x + z * z), s * (y * z - x * w),
          s * (x * z - y * w),     s * (y * z + x * w),     1 - s * (x * x + y * y)};
}

TEST(WorldFromCameraTest, NormalisesAnyQuaternion) {
  const float cases[][4] = {{0, 0, 0, 1},           {0.3f, -0.2f, 0.7f, 0.5f}, {3, -4, 5, -6},
                            {1e-20f, 0, 2e-20f, 0}, {1e18f, -1e18f, 0, 1e18f}, {0, 0, 1, 0}};
  for (const auto& q : cases) {
    const WorldFromCamera camera = WorldFromCameraOf(PoseWithQuaternion(q[0], q[1], q[2], q[3]));
    const auto expected = RotationByFormula(q[0], q[1], q[2], q[3]);
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(camera.rotation[i], expected[i], 1e-12) << i;
    EXPECT_EQ(camera.center, (std::array<double, 3>{1.0, -2.0, 3.0}));
  }
}

TEST(WorldFromCameraTest, ZeroQuaternionIsIdentity) {
  const WorldFromCamera camera = WorldFromCameraOf(PoseWithQuaternion(0, 0, 0, 0));
  EXPECT_EQ(camera.rotation, (std::array<double, 9>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(UnitQuaternionTest, OneRotationHasOneQuaternion) {
  const RigidPose negative = RigidPoseOf(PoseWithQuaternion(-1, 2, -3, -4));
  const RigidPose positive = RigidPoseOf(PoseWithQuaternion(1, -2, 3, 4));
  EXPECT_TRUE(negative.rotation.coeffs().isApprox(positive.rotation.coeffs()));
  EXPECT_GT(negative.rotation.w(), 0.0);
  EXPECT_NEAR(negative.rotation.norm(), 1.0, 1e-15);
  const Eigen::Quaterniond half_turn = UnitQuaternion(Eigen::Quaterniond(-0.0, 0.0, -2.0, 0.0));
  EXPECT_EQ(half_turn.y(), 1.0);
  EXPECT_FALSE(std::signbit(half_turn.w()));
}

TEST(RigidPoseTest, RoundTripKeepsFieldsOfView) {
  const PoseEncoding pose = PoseWithQuaternion(-0.1f, 0.2f, 0.3f, -0.9f);
  const PoseEncoding back = WithRigidPose(pose, RigidPoseOf(pose));
  const float norm = std::sqrt(0.01f + 0.04f + 0.09f + 0.81f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(back[i], pose[i]);
  for (int i = 3; i < 7; ++i) EXPECT_NEAR(back[i], -pose[i] / norm, 1e-7);
  EXPECT_EQ(back[7], pose[7]);
  EXPECT_EQ(back[8], pose[8]);
}

TEST(RigidPoseTest, NonFiniteIsRecognised) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(IsFinitePose(PoseWithQuaternion(0, 0, 0, 0)));
  EXPECT_FALSE(IsFinitePose(PoseWithQuaternion(nan, 0, 0, 1)));
  EXPECT_FALSE(IsFinitePose(PoseWithQuaternion(0, 0, 0, inf)));
  PoseEncoding pose = PoseWithQuaternion(0, 0, 0, 1);
  pose[2] = nan;
  EXPECT_FALSE(IsFinitePose(pose));
  EXPECT_TRUE(std::isnan(RigidPoseOf(PoseWithQuaternion(nan, 0, 0, 1)).rotation.w()));
}

TEST(IntrinsicsTest, FollowFieldsOfView) {
  PoseEncoding pose = PoseWithQuaternion(0, 0, 0, 1);
  pose[7] = 1.0f;  // vertical
  pose[8] = 1.4f;  // horizontal
  const Intrinsics intrinsics = IntrinsicsOf(pose, 56, 84);
  EXPECT_NEAR(intrinsics.fy, 28.0 / std::tan(0.5), 1e-5);
  EXPECT_NEAR(intrinsics.fx, 42.0 / std::tan(0.7), 1e-5);
  EXPECT_EQ(intrinsics.cx, 42.0);
  EXPECT_EQ(intrinsics.cy, 28.0);
}

TEST(IntrinsicsTest, ZeroFieldOfViewIsInfiniteFocalLength) {
  PoseEncoding pose = PoseWithQuaternion(0, 0, 0, 1);
  pose[7] = 0.0f;
  EXPECT_TRUE(std::isinf(IntrinsicsOf(pose, 56, 84).fy));
  EXPECT_TRUE(std::isfinite(IntrinsicsOf(pose, 56, 84).fx));
}

}  // namespace
}  // namespace lingbot
