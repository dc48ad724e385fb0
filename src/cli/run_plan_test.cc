#include "cli/run_plan.h"

#include <gtest/gtest.h>

namespace lingbot::cli {
namespace {

TEST(RunPlan, ChoosesTheKeyframeInterval) {
  EXPECT_EQ(AutomaticKeyframeInterval(1), 1);
  EXPECT_EQ(AutomaticKeyframeInterval(320), 1);
  EXPECT_EQ(AutomaticKeyframeInterval(321), 2);
  EXPECT_EQ(AutomaticKeyframeInterval(640), 2);
  EXPECT_EQ(AutomaticKeyframeInterval(1180), 4);
  EXPECT_EQ(AutomaticKeyframeInterval(5000), 16);
}

}  // namespace
}  // namespace lingbot::cli
