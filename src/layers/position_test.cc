#include "layers/position.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lingbot/error.h"

namespace lingbot {
namespace {

TEST(FramePositions, TurnsHalvesByRowAndColumn) {
  const FramePositions positions({3, 5, 6}, 64);
  const auto table = positions.table();
  EXPECT_EQ(table.cos.shape(), (Shape{21, 32}));
  for (int j = 0; j < 32; ++j)
    EXPECT_EQ(table.sin[5].data<float>()[j], 0.0f);  // specials at (0, 0)
  // Patch (2, 3) is token 6 + 2*5 + 3 and sits at (3, 4).
  EXPECT_NEAR(table.cos[19].data<float>()[2], std::cos(3 * std::pow(100.0, -4.0 / 32)), 1e-6);
  EXPECT_NEAR(table.sin[19].data<float>()[16 + 15], std::sin(4 * std::pow(100.0, -30.0 / 32)),
              1e-6);
}

TEST(StreamPositions, SplitsChannelsOverTimeRowColumnForAnyTime) {
  ops::Context context({.threads = 1}, 0, StreamPositions::StepInputBytes(64, 2));
  StreamPositions positions({3, 5, 6}, 64, 2, context);
  for (int64_t time : {int64_t{0}, int64_t{7}, int64_t{1023}, int64_t{1024}, int64_t{1000000}}) {
    positions.SetTime(time, 2);
    const auto table = positions.Table(context, 2);
    EXPECT_EQ(table.cos.shape(), (Shape{42, 32}));
    const TensorView sin = table.sin[21 + 6 + 2 * 5 + 3];  // second frame, patch (2, 3)
    EXPECT_NEAR(sin.data<float>()[3],
                std::sin(static_cast<double>(time + 1) * std::pow(10000.0, -6.0 / 20)), 1e-6);
    EXPECT_NEAR(sin.data<float>()[10 + 2], std::sin(8 * std::pow(10000.0, -4.0 / 22)), 1e-6);
    EXPECT_NEAR(sin.data<float>()[21 + 2], std::sin(9 * std::pow(10000.0, -4.0 / 22)), 1e-6);
    EXPECT_NEAR(table.sin[4].data<float>()[10], std::sin(4.0), 1e-6);  // special 4 at row 4
    EXPECT_NEAR(table.sin[4].data<float>()[21], std::sin(4.0), 1e-6);
  }
  EXPECT_THROW(StreamPositions({3, 5, 6}, 32, 1, context), Error);
}

}  // namespace
}  // namespace lingbot
