#include "bench/measure.h"

#include <gtest/gtest.h>

#include <string>

namespace lingbot {
namespace {

TEST(MeasureInTurn, AlternatesAndOrdersItsTimes) {
  std::string order;
  const std::vector<Timing> timings =
      MeasureInTurn({[&] { order += 'a'; }, [&] { order += 'b'; }}, 0.0);
  EXPECT_EQ(order, "abababab");  // one round to warm up, three that count
  ASSERT_EQ(timings.size(), 2u);
  for (const Timing& timing : timings) {
    EXPECT_GE(timing.best, 0.0);
    EXPECT_LE(timing.best, timing.median);
  }
}

}  // namespace
}  // namespace lingbot
