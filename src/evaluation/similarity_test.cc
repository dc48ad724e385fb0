#include "evaluation/similarity.h"

#include "evaluation/test_support.h"

namespace lingbot {
namespace {

using ::testing::HasSubstr;
using Points = std::vector<Eigen::Vector3d>;

Similarity KnownSimilarity() {
  Similarity s;
  s.scale = 2.5;
  s.rotation = Eigen::AngleAxisd(2.1, Eigen::Vector3d(1, -2, 0.5).normalized()).matrix();
  s.translation = {4, -7, 0.25};
  return s;
}

TEST(AlignPositionsTest, FindsTheSimilarityThatWasApplied) {
  const Similarity known = KnownSimilarity();
  const Points run = CentersOf(Helix(20));
  Points truth;
  for (const Eigen::Vector3d& point : run) truth.push_back(known * point);
  const Alignment found = AlignPositions(run, truth, /*with_scale=*/true);
  ASSERT_TRUE(found.similarity) << found.problem;
  EXPECT_NEAR(found.similarity->scale, known.scale, 1e-12);
  EXPECT_LT((found.similarity->rotation - known.rotation).norm(), 1e-12);
  EXPECT_LT((found.similarity->translation - known.translation).norm(), 1e-12);
}

TEST(AlignPositionsTest, LeavesTheScaleAloneWithoutScale) {
  Points truth;
  for (const Eigen::Vector3d& point : CentersOf(Helix(20))) truth.push_back(3 * point);
  const Alignment found = AlignPositions(CentersOf(Helix(20)), truth, /*with_scale=*/false);
  ASSERT_TRUE(found.similarity);
  EXPECT_EQ(found.similarity->scale, 1.0);
  EXPECT_LT((found.similarity->rotation - Eigen::Matrix3d::Identity()).norm(), 1e-12);
}

// A mirror image fits best by a reflection, which is no rotation.
TEST(AlignPositionsTest, NeverReflects) {
  Points mirrored;
  for (Eigen::Vector3d point : CentersOf(Helix(20))) {
    point.x() = -point.x();
    mirrored.push_back(point);
  }
  const Alignment found = AlignPositions(CentersOf(Helix(20)), mirrored, true);
  ASSERT_TRUE(found.similarity);
  EXPECT_NEAR(found.similarity->rotation.determinant(), 1, 1e-12);
}

TEST(AlignPositionsTest, SaysWhyThereIsNone) {
  const Points few = {{0, 0, 0}, {1, 0, 0}};
  EXPECT_THAT(AlignPositions(few, few, true).problem, HasSubstr("at least 3"));
  const Points helix = CentersOf(Helix(4));
  const Points still(4, Eigen::Vector3d(0.1, 0.7, 1234.5));
  EXPECT_THAT(AlignPositions(still, helix, true).problem, HasSubstr("run's camera does not move"));
  EXPECT_THAT(AlignPositions(helix, still, true).problem, HasSubstr("true camera does not move"));
  Points line;
  for (int i = 0; i < 4; ++i) line.push_back(Eigen::Vector3d(0.3, -1, 0.7) * i * i);
  EXPECT_THAT(AlignPositions(line, helix, true).problem, HasSubstr("one line"));
  EXPECT_THAT(AlignPositions(helix, line, false).problem, HasSubstr("one line"));
  EXPECT_FALSE(AlignPositions(helix, line, true).similarity);
  ExpectEvaluationError(ErrorCode::kShapeMismatch, "cannot be aligned",
                        [&] { AlignPositions(few, helix, true); });
}

TEST(SimilarityTest, TurnsPosesWithTheWorld) {
  const Similarity s = KnownSimilarity();
  const RigidPose pose = MakePose({1, 2, 3}, 40, {0, 1, 1});
  const RigidPose moved = s * pose;
  const Eigen::Vector3d ahead(0, 0, 1);  // a point a unit before the camera, s.scale afterwards
  const Eigen::Vector3d expected = s * Eigen::Vector3d(pose.center + pose.rotation * ahead);
  EXPECT_LT((moved.center + moved.rotation * (s.scale * ahead) - expected).norm(), 1e-12);
}

std::vector<RigidPose> Moved(const Similarity& similarity, const std::vector<RigidPose>& poses) {
  std::vector<RigidPose> moved;
  for (const RigidPose& pose : poses) moved.push_back(similarity * pose);
  return moved;
}

TEST(AlignPosesTest, FindsTheSimilarityAlsoOnAStraightLine) {
  const Similarity known = KnownSimilarity();
  std::vector<RigidPose> line;
  for (int i = 0; i < 5; ++i) {
    const Eigen::AngleAxisd turn(0.3 * i, Eigen::Vector3d(1, 2, -1).normalized());
    line.push_back({Eigen::Quaterniond(turn), Eigen::Vector3d(0.3, -1, 0.7) * i});
  }
  for (const std::vector<RigidPose>& run : {line, Helix(20)}) {
    const Alignment found = AlignPoses(run, Moved(known, run));
    ASSERT_TRUE(found.similarity) << found.problem;
    EXPECT_NEAR(found.similarity->scale, known.scale, 1e-12);
    EXPECT_LT((found.similarity->rotation - known.rotation).norm(), 1e-12);
    EXPECT_LT((found.similarity->translation - known.translation).norm(), 1e-11);
  }
}

TEST(AlignPosesTest, SaysWhyThereIsNone) {
  const std::vector<RigidPose> helix = Helix(4);
  std::vector<RigidPose> still = helix, backwards = helix;
  for (RigidPose& pose : still) pose.center = {1, 2, 3};
  for (RigidPose& pose : backwards) pose.center = -pose.center;
  EXPECT_THAT(AlignPoses(still, helix).problem, HasSubstr("run's camera does not move"));
  EXPECT_THAT(AlignPoses(helix, still).problem, HasSubstr("true camera does not move"));
  EXPECT_THAT(AlignPoses(backwards, helix).problem, HasSubstr("against"));
  EXPECT_THAT(AlignPoses(Helix(1), Helix(1)).problem, HasSubstr("at least 2"));
}

}  // namespace
}  // namespace lingbot
