#include "cli/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/progress.h"

namespace lingbot::cli {
namespace {

using ::testing::HasSubstr;
using Problem = TrackingHealth::Problem;

HealthSample At(double x, double confidence = 4.0, double depth = 2.0) {
  HealthSample sample;
  sample.center = {x, 0, 0};
  sample.confidence = confidence;
  sample.depth = depth;
  return sample;
}

// A camera that goes 0.02 a frame; returns where it is.
double Walk(TrackingHealth* health, int frames, int64_t first = 0, double x = 0) {
  for (int i = 0; i < frames; ++i) {
    x += 0.02;
    EXPECT_EQ(health->Add(first + i, At(x, 4.0 + 0.3 * (i % 3))), Problem::kNone) << first + i;
  }
  return x;
}

TEST(TrackingHealthTest, SteadyMotionIsHealthy) {
  TrackingHealth health;
  Walk(&health, 100);
  EXPECT_EQ(health.warning(), "");
  EXPECT_NEAR(health.step().value(), 1.0, 1e-6);
  EXPECT_NEAR(health.confidence().value(), 1.0, 0.15);
  EXPECT_EQ(health.summary().frames, 100);
  EXPECT_FALSE(health.summary().degraded_at);
}

TEST(TrackingHealthTest, SaysNothingBeforeItKnowsAnything) {
  TrackingHealth health;
  health.Add(0, At(0));
  EXPECT_FALSE(health.step());
  EXPECT_FALSE(health.confidence());
  health.Add(1, At(1000, 0.001));
  EXPECT_EQ(health.warning(), "");
}

TEST(TrackingHealthTest, LeapsInARowWarnOnceWithAdvice) {
  TrackingHealth health;
  double x = Walk(&health, 20);
  EXPECT_EQ(health.Add(20, At(x += 1.0)), Problem::kLeap);
  EXPECT_EQ(health.warning(), "");
  EXPECT_EQ(health.Add(21, At(x -= 0.8)), Problem::kLeap);
  EXPECT_THAT(health.warning(), HasSubstr("since frame 20"));
  EXPECT_THAT(health.warning(), HasSubstr("leaps"));
  EXPECT_THAT(health.warning(), HasSubstr("--start"));
  const std::string first = health.warning();
  Walk(&health, 20, 22, x);
  x = 5;
  for (int i = 42; i < 46; ++i) health.Add(i, At(x += 3));
  EXPECT_EQ(health.warning(), first);
  EXPECT_EQ(health.summary().degraded_at, 20);
  EXPECT_GE(health.summary().leaps, 3);
  EXPECT_GT(health.summary().largest_step, 40);
}

TEST(TrackingHealthTest, ASingleLeapIsAStumble) {
  TrackingHealth health;
  const double x = Walk(&health, 20);
  EXPECT_EQ(health.Add(20, At(x + 1)), Problem::kLeap);
  Walk(&health, 20, 21, x + 1);
  EXPECT_EQ(health.warning(), "");
  EXPECT_EQ(health.summary().leaps, 1);
}

// Relative to next to nothing every step is large.
TEST(TrackingHealthTest, ACameraThatStoodStillMayStart) {
  TrackingHealth health;
  double x = 0;
  for (int i = 0; i < 30; ++i) health.Add(i, At(1e-5 * (i % 2)));
  for (int i = 30; i < 40; ++i) EXPECT_EQ(health.Add(i, At(x += 0.08)), Problem::kNone);
  EXPECT_GT(health.summary().largest_step, 1000);
}

TEST(TrackingHealthTest, CollapsedConfidenceWarns) {
  TrackingHealth health;
  const double x = Walk(&health, 20);
  EXPECT_EQ(health.Add(20, At(x + 0.02, 1.5)), Problem::kConfidence);
  EXPECT_EQ(health.Add(21, At(x + 0.04, 1.5)), Problem::kConfidence);
  EXPECT_THAT(health.warning(), HasSubstr("since frame 20 (the confidence has collapsed)"));
  EXPECT_NEAR(health.summary().lowest_confidence, 1.5 / 4.3, 0.05);
}

// Through a door into an unknown room: to a third, but within two seconds.
TEST(TrackingHealthTest, ASlowDeclineIsNone) {
  TrackingHealth health;
  Walk(&health, 20);
  double confidence = 4.3;
  for (int i = 20; i < 80; ++i) {
    confidence *= std::pow(1.0 / 3, 1.0 / 30);
    EXPECT_EQ(health.Add(i, At(0.02 * (i + 1), confidence)), Problem::kNone) << i;
  }
}

TEST(TrackingHealthTest, ANetworkThatIsNeverSureCannotCollapse) {
  TrackingHealth health;
  for (int i = 0; i < 40; ++i) health.Add(i, At(0.02 * i, i % 5 == 4 ? 0.001 : 0.03));
  EXPECT_EQ(health.summary().low_confidence, 0);
  EXPECT_FALSE(health.confidence());
}

TEST(TrackingHealthTest, PosesThatAreNotFiniteWarnAndAreForgotten) {
  TrackingHealth health;
  const double x = Walk(&health, 20);
  HealthSample bad = At(std::numeric_limits<double>::quiet_NaN());
  bad.finite = false;
  for (int i = 20; i < 23; ++i) EXPECT_EQ(health.Add(i, bad), Problem::kNotFinite);
  EXPECT_THAT(health.warning(), HasSubstr("since frame 20 (poses are not finite)"));
  EXPECT_EQ(health.summary().not_finite, 3);
  EXPECT_FALSE(health.step());
  Walk(&health, 20, 23, x);
  EXPECT_EQ(health.summary().leaps, 0);
}

TEST(TrackingHealthTest, TakesMeansOfWhatIsThere) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> depth = {1.0f, 3.0f, nan, 0.0f, -2.0f};
  const std::vector<float> confidence = {1.0f, 2.0f, 3.0f, 2.0f, 2.0f};
  FrameResult result;
  result.depth = depth;
  result.confidence = confidence;
  result.pose = {1, 2, 3, 0, 0, 0, 1, 1, 1};
  HealthSample sample = HealthSampleOf(result);
  EXPECT_TRUE(sample.finite);
  EXPECT_EQ(sample.depth, 2.0);
  EXPECT_EQ(sample.confidence, 1.0);
  EXPECT_EQ(sample.center[2], 3.0);
  result.pose[4] = nan;
  result.depth = {};
  sample = HealthSampleOf(result);
  EXPECT_FALSE(sample.finite);
  EXPECT_EQ(sample.depth, 0.0);
}

TEST(TrackingHealthTest, TextOfTheProgressLine) {
  TrackingHealth health;
  EXPECT_EQ(HealthText(health), "");
  Walk(&health, 30);
  EXPECT_THAT(HealthText(health), ::testing::StartsWith("  step 1x  confidence "));
}

}  // namespace
}  // namespace lingbot::cli
