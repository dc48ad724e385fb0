#include "geometry/induced_motion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "geometry/unproject.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

constexpr int kHeight = 28;
constexpr int kWidth = 42;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// A camera at (x, y, z), turned by `yaw` to the right about its own vertical axis.
PoseEncoding Pose(double x, double y, double z, double yaw = 0.0) {
  return {static_cast<float>(x),
          static_cast<float>(y),
          static_cast<float>(z),
          0.0f,
          static_cast<float>(std::sin(yaw / 2)),
          0.0f,
          static_cast<float>(std::cos(yaw / 2)),
          0.8f,
          1.1f};
}

std::vector<float> Wall(float depth, int height = kHeight, int width = kWidth) {
  return std::vector<float>(size_t{1} * height * width, depth);
}

MotionReference Facing(const std::vector<float>& depth, const PoseEncoding& pose = Pose(0, 0, 0)) {
  MotionReference reference(kHeight, kWidth);
  reference.Set(pose, depth);
  return reference;
}

TEST(InducedMotionTest, NothingMovesWhereTheCameraStands) {
  for (const PoseEncoding& pose : {Pose(0, 0, 0), Pose(1, -2, 3, 0.4)}) {
    EXPECT_NEAR(Facing(Wall(2.5f), pose).MotionTo(pose).value(), 0.0, 1e-9);
  }
}

// Parallel to the image by t, a wall at depth d moves by f * t / d pixels everywhere.
TEST(InducedMotionTest, TranslationAlongTheImageMovesAWallByFocalLengthTimesShiftOverDepth) {
  const Intrinsics k = IntrinsicsOf(Pose(0, 0, 0), kHeight, kWidth);
  for (const float depth : {1.0f, 4.0f}) {
    const MotionReference reference = Facing(Wall(depth));
    EXPECT_NEAR(reference.MotionTo(Pose(0.25, 0, 0)).value(), k.fx * 0.25 / depth / kWidth, 1e-7);
    EXPECT_NEAR(reference.MotionTo(Pose(0, -0.25, 0)).value(), k.fy * 0.25 / depth / kWidth, 1e-7);
  }
}

TEST(InducedMotionTest, DoesNotDependOnTheUnitOfLength) {
  const double small = Facing(Wall(2.0f)).MotionTo(Pose(0.1, 0.05, 0.3, 0.02)).value();
  const double large = Facing(Wall(200.0f)).MotionTo(Pose(10, 5, 30, 0.02)).value();
  EXPECT_NEAR(small, large, 1e-6);
}

TEST(InducedMotionTest, DoesNotDependOnTheSizeOfTheImage) {
  const PoseEncoding to = Pose(0.1, 0.05, 0.3, 0.02);
  double motion[2];
  for (const int size : {1, 2}) {
    MotionReference reference(224 * size, 336 * size);
    reference.Set(Pose(0, 0, 0), Wall(2.0f, 224 * size, 336 * size));
    motion[size - 1] = reference.MotionTo(to).value();
  }
  // The grids of the two sizes lie half a sample apart: 1 of 168 columns.
  EXPECT_NEAR(motion[0], motion[1], 0.01 * motion[0]);
}

// Turning moves the image alike whatever the depth; in the middle by about f * angle.
TEST(InducedMotionTest, RotationDoesNotDependOnDepth) {
  std::vector<float> uneven = Wall(1.0f);
  for (size_t i = 0; i < uneven.size(); ++i) uneven[i] += static_cast<float>(i % 7);
  const PoseEncoding turned = Pose(0, 0, 0, 0.05);
  const double motion = Facing(Wall(3.0f)).MotionTo(turned).value();
  EXPECT_NEAR(Facing(uneven).MotionTo(turned).value(), motion, 1e-9);
  const Intrinsics k = IntrinsicsOf(turned, kHeight, kWidth);
  EXPECT_GT(motion, k.fx * 0.05 / kWidth);
  EXPECT_LT(motion, 1.3 * k.fx * 0.05 / kWidth);
}

TEST(InducedMotionTest, ZoomingIsMotion) {
  PoseEncoding wide = Pose(0, 0, 0);
  wide[7] = 1.0f;
  wide[8] = 1.4f;
  EXPECT_GT(Facing(Wall(2.0f)).MotionTo(wide).value(), 0.02);
}

TEST(InducedMotionTest, PointsBehindTheCameraCountAsOutOfSight) {
  EXPECT_EQ(Facing(Wall(2.0f)).MotionTo(Pose(0, 0, 2.5)), 1.0);
  EXPECT_EQ(Facing(Wall(2.0f)).MotionTo(Pose(0, 0, 0, 3.1)), 1.0);
  std::vector<float> half = Wall(2.0f);
  std::fill(half.begin() + kHeight / 2 * kWidth, half.end(), 1e6f);
  EXPECT_NEAR(Facing(half).MotionTo(Pose(0, 0, 2.5)).value(), 0.5, 1e-4);
}

// Just in front of the camera, where the quotient has no bound.
TEST(InducedMotionTest, APointCountsWithOneWidthAtMost) {
  const double motion = Facing(Wall(2.0f)).MotionTo(Pose(0, 0, 1.9999999)).value();
  EXPECT_LE(motion, 1.0);
  EXPECT_GT(motion, 0.99);
}

TEST(InducedMotionTest, PointsWithoutDepthDoNotCount) {
  std::vector<float> depth = Wall(2.0f);
  const double all = Facing(depth).MotionTo(Pose(0.1, 0, 0)).value();
  const float bad[] = {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity()};
  for (size_t i = 0; i < depth.size(); ++i) {
    if (i % 5 < 4) depth[i] = bad[i % 5];
  }
  EXPECT_NEAR(Facing(depth).MotionTo(Pose(0.1, 0, 0)).value(), all, 1e-9);
}

TEST(InducedMotionTest, NoneWhereItMeansNothing) {
  EXPECT_FALSE(MotionReference(kHeight, kWidth).MotionTo(Pose(0, 0, 0)));
  EXPECT_FALSE(Facing(Wall(0.0f)).MotionTo(Pose(0.1, 0, 0)));
  PoseEncoding no_field_of_view = Pose(0, 0, 0);
  no_field_of_view[8] = 0.0f;
  for (const PoseEncoding& bad :
       {Pose(kNotANumber, 0, 0), Pose(0, 0, 0, kNotANumber), no_field_of_view}) {
    EXPECT_FALSE(Facing(Wall(2.0f)).MotionTo(bad));
    EXPECT_FALSE(Facing(Wall(2.0f), bad).MotionTo(Pose(0, 0, 0)));
  }
}

TEST(InducedMotionTest, GridIsBoundedAndNeverEmpty) {
  for (const auto& [height, width] :
       {std::pair{1, 1}, {1, 16384}, {14, 14}, {518, 518}, {65, 64}}) {
    MotionReference reference(height, width);
    EXPECT_GE(reference.samples().size(), 1u);
    EXPECT_LE(reference.samples().size(), 4096u) << width << "x" << height;
    // From stride 1 to 2 three of four samples go: 65x64 comes to 32x32.
    EXPECT_GE(reference.samples().size(), std::min<size_t>(1024, size_t{1} * height * width));
    reference.Set(Pose(0, 0, 0), Wall(1.0f, height, width));
  }
  EXPECT_THROW(MotionReference(0, 4), Error);
  EXPECT_THROW(MotionReference(2, 2).Set(Pose(0, 0, 0), Wall(1.0f, 2, 3)), Error);
}

TEST(InducedMotionTest, RestoredReferenceIsTheSame) {
  std::vector<float> depth = Wall(2.0f);
  for (size_t i = 0; i < depth.size(); ++i) depth[i] += 0.01f * static_cast<float>(i);
  const MotionReference reference = Facing(depth, Pose(1, 2, 3, 0.2));
  MotionReference restored(kHeight, kWidth);
  restored.Restore(reference.pose(), reference.samples());
  const PoseEncoding to = Pose(1.5, 2, 3.1, 0.25);
  EXPECT_EQ(restored.MotionTo(to), reference.MotionTo(to));
}

}  // namespace
}  // namespace lingbot
