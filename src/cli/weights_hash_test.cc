#include "cli/weights_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace lingbot::cli {
namespace {

std::vector<std::byte> Bytes(size_t size) { return std::vector<std::byte>(size); }

// FNV-1a-64 of eight zero bytes, by the definition: eight multiplications of the offset basis.
TEST(WeightsHash, IsFnv1aOfLengthAndBytes) {
  uint64_t state = 0xCBF29CE484222325u;
  for (int i = 0; i < 8; ++i) state *= 0x100000001B3u;
  char expected[32];
  std::snprintf(expected, sizeof(expected), "fnv1a64:%016lx", static_cast<unsigned long>(state));
  EXPECT_EQ(HashOf({}), expected);
}

TEST(WeightsHash, SeesEveryByteAndTheLengthOfSmallFiles) {
  auto bytes = Bytes(1000);
  const std::string before = HashOf(bytes);
  bytes[517] = std::byte{1};
  EXPECT_NE(HashOf(bytes), before);
  EXPECT_NE(HashOf(Bytes(1001)), before);
}

TEST(WeightsHash, SamplesLargeFilesFromFirstToLastByte) {
  constexpr size_t kSize = (size_t{64} << 20) + 1;
  auto bytes = Bytes(kSize);
  const std::string before = HashOf(bytes);
  EXPECT_EQ(before.rfind("fnv1a64-sampled:", 0), 0u);
  for (const size_t at : {size_t{0}, size_t{16383}, kSize / 2, kSize - 16384, kSize - 1}) {
    bytes[at] = std::byte{1};
    // The middle lies in no block of this size: 1,024 blocks cover a quarter of 64 MiB.
    EXPECT_EQ(HashOf(bytes) != before, at != kSize / 2) << at;
    bytes[at] = std::byte{0};
  }
}

}  // namespace
}  // namespace lingbot::cli
