#include "evaluation/trajectory_metrics.h"

#include "evaluation/test_support.h"

namespace lingbot {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;

TEST(StatisticsTest, AreThoseOfTheDefinitions) {
  const ErrorStatistics s = Summarise({4, 1, 3, 2});
  EXPECT_EQ(s.count, 4);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.rmse, std::sqrt(7.5));
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(1.25));
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(Summarise({}).count, 0);
  EXPECT_EQ(Summarise({7, 1, 2}).median, 2);
}

TEST(AngleTest, IsExactForSmallAndLargeAngles) {
  const Eigen::Quaterniond identity = Eigen::Quaterniond::Identity();
  for (const double degrees : {0.0, 1e-7, 0.5, 90.0, 179.9}) {
    const Eigen::Quaterniond turned = MakePose({0, 0, 0}, degrees).rotation;
    EXPECT_NEAR(AngleBetween(identity, turned), degrees, 1e-12 + 1e-10 * degrees);
    const Eigen::Quaterniond negated(-turned.w(), -turned.x(), -turned.y(), -turned.z());
    EXPECT_NEAR(AngleBetween(identity, negated), degrees, 1e-12 + 1e-10 * degrees);
  }
}

// Every pose of the run lies 0.3 off, is turned by 7 degrees in its own axes, in half the size.
TEST(TrajectoryMetricsTest, MeasureWhatWasDone) {
  const std::vector<RigidPose> truth = Helix(30);
  std::vector<RigidPose> run = truth;
  const Eigen::Quaterniond turn = MakePose({0, 0, 0}, 7, {1, 0, 0}).rotation;
  for (RigidPose& pose : run) {
    pose.center += Eigen::Vector3d(0, 0.3, 0);
    pose.center /= 2;
    pose.rotation = pose.rotation * turn;
  }
  Similarity back;
  back.scale = 2;
  const PosePairs pairs = PairsOf(run, truth);
  EXPECT_THAT(PositionErrors(pairs, back), Each(DoubleNear(0.3, 1e-12)));
  EXPECT_THAT(RotationErrors(pairs, back), Each(DoubleNear(7, 1e-9)));
  // From the first frame on the turn appears on both sides, conjugated: less than twice 7.
  EXPECT_EQ(RotationErrorsFromFirst(pairs).size(), 29u);
}

TEST(TrajectoryMetricsTest, RotationFromTheFirstFrameNeedsNoAlignment) {
  const std::vector<RigidPose> truth = Helix(10);
  std::vector<RigidPose> run = truth;
  const Eigen::Quaterniond world = MakePose({0, 0, 0}, 120, {1, 2, 3}).rotation;
  for (size_t i = 0; i < run.size(); ++i) {
    const double wrong = i < 5 ? 0 : 11;
    run[i].rotation = world * run[i].rotation * MakePose({0, 0, 0}, wrong, {0, 0, 1}).rotation;
  }
  const std::vector<double> errors = RotationErrorsFromFirst(PairsOf(run, truth));
  for (size_t i = 0; i < errors.size(); ++i) EXPECT_NEAR(errors[i], i < 4 ? 0 : 11, 1e-6);
}

// A run 10 % too fast: over `delta` steps of 0.1 m it is wrong by a tenth of them.
TEST(RelativePoseErrorsTest, CountPairsAsDefined) {
  std::vector<RigidPose> truth;
  std::vector<RigidPose> run;
  for (int i = 0; i < 11; ++i) {
    truth.push_back(MakePose({0, 0, 0.1 * i}));
    run.push_back(MakePose({0, 0, 0.11 * i}, 0.5 * i));
  }
  const PosePairs pairs = PairsOf(run, truth);
  const RelativeErrors consecutive = RelativePoseErrors(pairs, 1.0, 3, /*all_pairs=*/false);
  EXPECT_EQ(consecutive.translation.count, 3);  // 0-3, 3-6, 6-9
  const RelativeErrors all = RelativePoseErrors(pairs, 1.0, 3, /*all_pairs=*/true);
  EXPECT_EQ(all.translation.count, 8);
  EXPECT_NEAR(all.rotation_degrees.min, 1.5, 1e-9);
  EXPECT_NEAR(all.rotation_degrees.max, 1.5, 1e-9);
  EXPECT_EQ(RelativePoseErrors(pairs, 1.0, 11, true).translation.count, 0);
  // The first pair's run is not turned at its start.
  const RelativeErrors one =
      RelativePoseErrors(PairsOf({run[0], run[1]}, {truth[0], truth[1]}), 1 / 1.1, 1, false);
  EXPECT_NEAR(one.translation.max, 0, 1e-12);
}

TEST(RelativePoseAccuracyTest, IsTheMeanOverWholeDegrees) {
  // One pair, wrong by 2.5 degrees: below the thresholds 3, 4 and 5 of 1 to 5.
  const PosePairs pairs = PairsOf({MakePose({0, 0, 0}), MakePose({0, 0, 5}, 2.5)},
                                  {MakePose({0, 0, 0}), MakePose({0, 0, 1})});
  const RelativeAccuracy accuracy = RelativePoseAccuracy(pairs);
  EXPECT_EQ(accuracy.pairs, 1);
  EXPECT_DOUBLE_EQ(accuracy.auc[0], 3.0 / 5);
  EXPECT_DOUBLE_EQ(accuracy.auc[1], 13.0 / 15);
  EXPECT_DOUBLE_EQ(accuracy.auc[2], 28.0 / 30);
}

TEST(RelativePoseAccuracyTest, TakesTheLargerOfBothAngles) {
  const auto auc30 = [](const Eigen::Vector3d& run_center, double degrees) {
    return RelativePoseAccuracy(PairsOf({MakePose({0, 0, 0}), MakePose(run_center, degrees)},
                                        {MakePose({0, 0, 0}), MakePose({0, 0, 1})}))
        .auc[2];
  };
  EXPECT_DOUBLE_EQ(auc30({0, 0, 9}, 0), 1);   // length does not count
  EXPECT_DOUBLE_EQ(auc30({0, 0, -1}, 0), 0);  // backwards is 180 degrees off
  EXPECT_DOUBLE_EQ(auc30({0, 0, 0}, 0), 0);   // no motion has no direction
  EXPECT_DOUBLE_EQ(auc30({0, std::sin(0.2), std::cos(0.2)}, 3), 19.0 / 30);  // 11.46 degrees
}

TEST(RelativePoseAccuracyTest, StaysBoundedForLongRuns) {
  const std::vector<RigidPose> poses = Helix(4500);
  const RelativeAccuracy accuracy = RelativePoseAccuracy(PairsOf(poses, poses));
  EXPECT_EQ(accuracy.pairs, 2000 * 1999 / 2);
  EXPECT_DOUBLE_EQ(accuracy.auc[0], 1);
}

TEST(TrivialPoseErrorsTest, FollowTheirDefinitions) {
  std::vector<RigidPose> truth;
  for (int i = 0; i < 5; ++i) truth.push_back(MakePose({2.0 * i, 0, 0}, 10 * i));
  truth[2].center.y() = 1;  // a bump that no line follows
  const TrivialErrors trivial = TrivialPoseErrors(PairsOf(truth, truth));
  EXPECT_NEAR(trivial.line_position.rmse, std::sqrt(0.8 / 5), 1e-12);  // of 0.8 and four of -0.2
  EXPECT_NEAR(trivial.static_position.rmse, std::sqrt((40 + 0.8) / 5), 1e-12);
  EXPECT_NEAR(trivial.static_rotation.median, 25, 1e-9);
}

// Missing frames: the line moves at constant speed in time, not from pose to pose.
TEST(TrivialPoseErrorsTest, LineMovesInTime) {
  PosePairs pairs;
  for (const double t : {0.0, 1.0, 2.0, 7.0, 8.0}) {
    pairs.truth.push_back(MakePose({t, -t, 3 + t}));
    pairs.times.push_back(t);
  }
  pairs.run = pairs.truth;
  EXPECT_NEAR(TrivialPoseErrors(pairs).line_position.max, 0, 1e-12);
}

}  // namespace
}  // namespace lingbot
