#include "evaluation/association.h"

#include "evaluation/test_support.h"

namespace lingbot {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

PoseTrack Track(const std::vector<double>& times) {
  PoseTrack track;
  track.has_timestamps = true;
  for (const double time : times) {
    TrackPose pose;
    pose.index = static_cast<int64_t>(track.poses.size());
    pose.timestamp = time;
    pose.pose = MakePose({0, 0, 0});
    track.poses.push_back(pose);
  }
  return track;
}

std::vector<std::pair<size_t, size_t>> Matches(const PoseTrack& run, const PoseTrack& truth,
                                               AssociateBy by, double tolerance = 0.01) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const Match& m : Associate(run, truth, by, tolerance).matches) {
    pairs.emplace_back(m.run, m.truth);
  }
  return pairs;
}

TEST(AssociateTest, TakesTheNearestWithinTheTolerance) {
  EXPECT_THAT(Matches(Track({0.0, 1.004, 2.02}), Track({0.0, 0.99, 1.0, 2.0}), AssociateBy::kTime),
              ElementsAre(Pair(0, 0), Pair(1, 2)));
}

TEST(AssociateTest, IncludesTheToleranceItself) {
  EXPECT_THAT(Matches(Track({1.5}), Track({1.0}), AssociateBy::kTime, 0.5),
              ElementsAre(Pair(0, 0)));
}

TEST(AssociateTest, TakesTheEarlierOfTwoEquallyNear) {
  EXPECT_THAT(Matches(Track({1.5}), Track({1.0, 2.0}), AssociateBy::kTime, 1),
              ElementsAre(Pair(0, 0)));
}

TEST(AssociateTest, UsesEveryTruthOnce) {
  // Both poses are nearest to the same true one; the nearer keeps it.
  EXPECT_THAT(Matches(Track({1.0, 1.2}), Track({0.0, 1.15}), AssociateBy::kTime, 1),
              ElementsAre(Pair(1, 1)));
}

TEST(AssociateTest, StartsFromTheTrackThatHasFewer) {
  const PoseTrack dense = Track({0.0, 0.01, 0.02, 1.0, 1.01});
  const PoseTrack sparse = Track({0.012, 1.001});
  EXPECT_THAT(Matches(dense, sparse, AssociateBy::kTime, 0.05),
              ElementsAre(Pair(1, 0), Pair(3, 1)));
  EXPECT_THAT(Matches(sparse, dense, AssociateBy::kTime, 0.05),
              ElementsAre(Pair(0, 1), Pair(1, 3)));
}

TEST(AssociateTest, DoesNotNeedOrder) {
  EXPECT_THAT(Matches(Track({5, 3, 4}), Track({4, 5, 3}), AssociateBy::kTime),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 0)));
}

TEST(AssociateTest, ByIndexAndName) {
  PoseTrack run = Track({0, 1, 2});
  PoseTrack truth = Track({7, 8, 9});
  run.poses[2].index = 40;
  EXPECT_THAT(Matches(run, truth, AssociateBy::kIndex), ElementsAre(Pair(0, 0), Pair(1, 1)));
  run.poses[0].name = "in/b.png";
  run.poses[1].name = "a.png";
  truth.poses[0].name = "a.jpg";
  truth.poses[2].name = "images/b.jpg";
  EXPECT_THAT(Matches(run, truth, AssociateBy::kName), ElementsAre(Pair(0, 2), Pair(1, 0)));
}

TEST(AssociateTest, ChoosesWhatBothHave) {
  PoseTrack run = Track({0, 1});
  PoseTrack truth = Track({0, 1});
  EXPECT_EQ(Associate(run, truth, AssociateBy::kAuto, 0.1).by, AssociateBy::kTime);
  run.invented_times = true;
  EXPECT_EQ(Associate(run, truth, AssociateBy::kAuto, 0.1).by, AssociateBy::kIndex);
  EXPECT_EQ(Associate(run, truth, AssociateBy::kTime, 0.1).by, AssociateBy::kTime);
  run.invented_times = false;
  truth.has_timestamps = false;
  EXPECT_EQ(Associate(run, truth, AssociateBy::kAuto, 0.1).by, AssociateBy::kIndex);
  run.poses[0].name = run.poses[1].name = truth.poses[0].name = truth.poses[1].name = "a.png";
  EXPECT_EQ(Associate(run, truth, AssociateBy::kAuto, 0.1).by, AssociateBy::kName);
  EXPECT_EQ(Associate(run, truth, AssociateBy::kAuto, 0.1).matches.size(), 1u);  // names repeat
  ExpectEvaluationError(ErrorCode::kInvalidArgument, "ground truth has no timestamps",
                        [&] { Associate(run, truth, AssociateBy::kTime, 0.1); });
}

}  // namespace
}  // namespace lingbot
