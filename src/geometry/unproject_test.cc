#include "geometry/unproject.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lingbot/error.h"

namespace lingbot {
namespace {

TEST(UnprojectTest, MatchesTheFormulaWrittenOut) {
  const PoseEncoding pose = {0.5f, -1.5f, 2.5f, 0.2f, -0.4f, 0.1f, 0.8f, 0.9f, 1.3f};
  const int height = 28;
  const int width = 42;
  const Intrinsics k = IntrinsicsOf(pose, height, width);
  const WorldFromCamera camera = WorldFromCameraOf(pose);
  const Unprojector unproject(RigidPoseOf(pose), k);
  for (const auto& [u, v] : {std::pair{0, 0}, {41, 0}, {0, 27}, {41, 27}, {13, 5}}) {
    const double depth = 3.25;
    const double ray[3] = {(u - k.cx) / k.fx * depth, (v - k.cy) / k.fy * depth, depth};
    const Eigen::Vector3d point = unproject(u, v, depth);
    for (int row = 0; row < 3; ++row) {
      double expected = camera.center[row];
      for (int i = 0; i < 3; ++i) expected += camera.rotation[3 * row + i] * ray[i];
      EXPECT_NEAR(point[row], expected, 1e-12);
    }
  }
}

TEST(UnprojectTest, AxesPointRightDownForward) {
  const PoseEncoding pose = {0, 0, 0, 0, 0, 0, 1, 1.0f, 1.0f};
  const Unprojector unproject(RigidPoseOf(pose), IntrinsicsOf(pose, 10, 10));
  EXPECT_TRUE(unproject(5, 5, 2.0).isApprox(Eigen::Vector3d(0, 0, 2)));
  EXPECT_GT(unproject(9, 5, 2.0).x(), 0.0);
  EXPECT_GT(unproject(5, 9, 2.0).y(), 0.0);
}

TEST(UnprojectTest, InfiniteFocalLengthIsRefused) {
  const PoseEncoding pose = {0, 0, 0, 0, 0, 0, 1, 0.0f, 1.0f};
  const Intrinsics intrinsics = IntrinsicsOf(pose, 10, 10);
  EXPECT_FALSE(CanUnproject(intrinsics));
  EXPECT_THROW(Unprojector(RigidPoseOf(pose), intrinsics), Error);
  EXPECT_FALSE(CanUnproject({0.0, 1.0, 1.0, 1.0}));
  EXPECT_FALSE(CanUnproject({std::nan(""), 1.0, 1.0, 1.0}));
}

TEST(UnprojectTest, PhysicalFieldsOfView) {
  const auto physical = [](float vertical, float horizontal) {
    return IsPhysicalFieldOfView({0, 0, 0, 0, 0, 0, 1, vertical, horizontal});
  };
  EXPECT_TRUE(physical(1.0f, 3.1f));
  EXPECT_FALSE(physical(0.0f, 1.0f));
  EXPECT_FALSE(physical(1.0f, 4.0f));
  EXPECT_FALSE(physical(std::numeric_limits<float>::quiet_NaN(), 1.0f));
}

}  // namespace
}  // namespace lingbot
