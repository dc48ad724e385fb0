#include "cli/byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

TEST(ByteSize, ReadsUnitsOfTenAndOfTwo) {
  EXPECT_EQ(ParseByteSize("1000000"), 1'000'000u);
  EXPECT_EQ(ParseByteSize("7B"), 7u);
  EXPECT_EQ(ParseByteSize("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(ParseByteSize("800MB"), 800'000'000u);
  EXPECT_EQ(ParseByteSize("1.5 gb"), 1'500'000'000u);
  EXPECT_EQ(ParseByteSize("2kb"), 2000u);
  EXPECT_EQ(ParseByteSize("2KiB"), 2048u);
  EXPECT_EQ(ParseByteSize("1TiB"), uint64_t{1} << 40);
}

TEST(ByteSize, RefusesEverythingElse) {
  for (const char* text : {"", "GB", "4G", "-1GB", "0", "0.4", "1..5GB", "4 GB x", "1e3", "nan",
                           "inf", "9999999999TB", "0x10", "4GiB\n"}) {
    try {
      ParseByteSize(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), testing::HasSubstr("4GiB"));
    }
  }
}

}  // namespace
}  // namespace lingbot::cli
