#include "cli/time_text.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

TEST(ParseTime, ReadsSecondsMinutesHours) {
  EXPECT_EQ(ParseTime("0"), 0);
  EXPECT_EQ(ParseTime("90"), 90);
  EXPECT_EQ(ParseTime("2.5"), 2.5);
  EXPECT_EQ(ParseTime("1:30"), 90);
  EXPECT_EQ(ParseTime("75:00"), 4500);
  EXPECT_EQ(ParseTime("01:02:03.25"), 3723.25);
}

TEST(ParseTime, RefusesEverythingElse) {
  for (const char* text :
       {"", "-1", "1:", ":1", "1:60", "1:60:00", "1:2:3:4", "1.5:00", "nan", "inf", "1e3", "0x10",
        "5s", " 5", "5 ", "1.", ".5", "9999999999", "1:2.0000000001"}) {
    EXPECT_THROW(ParseTime(text), Error) << text;
  }
}

}  // namespace
}  // namespace lingbot::cli
