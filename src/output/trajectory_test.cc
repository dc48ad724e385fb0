#include "output/trajectory.h"

#include <limits>

#include "output/test_support.h"

namespace lingbot {
namespace {

TEST(TrajectoryTest, RoundTrip) {
  const ScratchFolder folder;
  TumTrajectory trajectory(folder / "t.txt");
  const PoseEncoding poses[] = {{1.25f, -2.5f, 1e-7f, 0, 0, 0, 1, 1, 1},
                                {0.1f, 0.2f, 0.3f, -0.5f, 0.5f, 0.5f, -0.5f, 1, 1},
                                {1e6f, -1e-6f, 3.3333333f, 0.6f, 0, 0, 0.8f, 1, 1}};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(trajectory.Append(1700000000.0 + i / 30.0, poses[i]));
  const auto back = ReadTumTrajectory(folder / "t.txt");
  ASSERT_EQ(back.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(back[i].timestamp, 1700000000.0 + i / 30.0, 1e-6);
    const float sign = poses[i][6] < 0 ? -1.0f : 1.0f;
    for (int j = 0; j < 3; ++j) EXPECT_EQ(back[i].pose[j], poses[i][j]);
    for (int j = 3; j < 7; ++j) EXPECT_NEAR(back[i].pose[j], sign * poses[i][j], 1e-7);
  }
  const std::string text = ReadText(folder / "t.txt");
  EXPECT_EQ(text[0], '#');
  EXPECT_THAT(text, ::testing::HasSubstr("world_from_camera"));
}

TEST(TrajectoryTest, QuaternionsAreMadeUnit) {
  const ScratchFolder folder;
  TumTrajectory trajectory(folder / "t.txt");
  trajectory.Append(0.5, {1, 2, 3, 0, 0, -3, -4, 1, 1});
  trajectory.Append(1.5, {1, 2, 3, 0, 0, 0, 0, 1, 1});
  EXPECT_THAT(ReadText(folder / "t.txt"), ::testing::HasSubstr("\n0.500000000 1 2 3 0 0 0.6"));
  const auto back = ReadTumTrajectory(folder / "t.txt");
  EXPECT_NEAR(back[0].pose[6], 0.8f, 1e-7);
  EXPECT_EQ(back[1].pose[6], 1.0f);
}

TEST(TrajectoryTest, PosesThatAreNotFiniteAreLeftOut) {
  const ScratchFolder folder;
  TumTrajectory trajectory(folder / "t.txt");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(trajectory.Append(0.0, {nan, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_FALSE(trajectory.Append(0.0, {0, 0, 0, 0, nan, 0, 1, 1, 1}));
  EXPECT_TRUE(trajectory.Append(0.0, {0, 0, 0, 0, 0, 0, 1, nan, 1}));
  EXPECT_EQ(ReadTumTrajectory(folder / "t.txt").size(), 1u);
}

TEST(TrajectoryTest, DamagedFilesAreRefused) {
  const ScratchFolder folder;
  for (const std::string bad : {"1 2 3 4 5 6 7", "1 2 3 4 5 6 7 8 9", "a b c d e f g h"}) {
    WriteText(folder / "t.txt", "# ok\n\n1 2 3 4 5 6 7 8\n" + bad + "\n");
    ExpectError(ErrorCode::kCorruptFile, "line 4", [&] { ReadTumTrajectory(folder / "t.txt"); });
  }
  ExpectError(ErrorCode::kFileNotFound, "none", [&] { ReadTumTrajectory(folder / "none"); });
}

}  // namespace
}  // namespace lingbot
