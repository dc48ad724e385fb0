#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lingbot {
namespace {

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.00 kB");
  EXPECT_EQ(FormatBytes(999499), "999 kB");
  EXPECT_EQ(FormatBytes(999999), "1.00 MB");
  EXPECT_EQ(FormatBytes(19'000'000'000), "19.0 GB");
}

TEST(SystemMemory, ReportsPlausibleNumbers) {
  EXPECT_GT(AvailableMemory(), 0u);
  EXPECT_GT(ResidentMemory(), 100'000u);
  EXPECT_GE(PeakResidentMemory(), ResidentMemory());
}

TEST(LazyMemory, CostsOnlyWhatIsTouched) {
  constexpr size_t kMega = 1 << 20;
  const uint64_t before = ResidentMemory();
  LazyMemory memory(size_t{64} << 30);
  EXPECT_LT(ResidentMemory(), before + 8 * kMega);
  std::memset(memory.data() + 32 * kMega, 1, 32 * kMega);
  EXPECT_GT(ResidentMemory(), before + 24 * kMega);
  memory.Discard(32 * kMega, 32 * kMega);
  EXPECT_LT(ResidentMemory(), before + 16 * kMega);
  EXPECT_EQ(static_cast<int>(memory.data()[40 * kMega]), 0);
}

}  // namespace
}  // namespace lingbot
