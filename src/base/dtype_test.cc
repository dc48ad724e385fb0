#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace lingbot {
namespace {

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(ToBFloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F808000u)).bits, 0x3F80);  // tie, even below
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F818000u)).bits, 0x3F82);  // tie, even above
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F808001u)).bits, 0x3F81);
  EXPECT_EQ(ToBFloat16(INFINITY).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Half, CoversSubnormalsAndSpecials) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0f);
  EXPECT_EQ(HalfToFloat(0xC000), -2.0f);
  EXPECT_EQ(HalfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(HalfToFloat(0x7BFF), 65504.0f);
  EXPECT_TRUE(std::isinf(HalfToFloat(0x7C00)));
  EXPECT_TRUE(std::isnan(HalfToFloat(0x7E00)));
}

TEST(ConvertToFloat, AcceptsUnalignedSources) {
  alignas(8) unsigned char bytes[1 + 2 * sizeof(double)];
  const double values[2] = {1.5, -3.25};
  std::memcpy(bytes + 1, values, sizeof(values));
  float out[2];
  ConvertToFloat(bytes + 1, DType::kF64, 2, out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(out[1], -3.25f);
}

}  // namespace
}  // namespace lingbot
