#include "base/xxhash64.h"

#include <gtest/gtest.h>

#include <string>

namespace lingbot {
namespace {

uint64_t HashOf(const std::string& text) {
  XxHash64 hash;
  hash.Add(text.data(), text.size());
  return hash.value();
}

TEST(XxHash64Test, PublishedValues) {
  EXPECT_EQ(HashOf(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(HashOf("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(HashOf("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(HashOf("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(XxHash64Test, PiecesMakeNoDifference) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 37);
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string part = text.substr(0, length);
    for (const size_t piece : {1, 3, 8, 31, 32, 33, 64}) {
      XxHash64 hash;
      for (size_t i = 0; i < length; i += piece) {
        hash.Add(part.data() + i, std::min(piece, length - i));
        hash.value();  // asking changes nothing
      }
      ASSERT_EQ(hash.value(), HashOf(part)) << length << " in pieces of " << piece;
    }
  }
}

TEST(XxHash64Test, EveryChangedBitShows) {
  std::string text(100, 'x');
  const uint64_t expected = HashOf(text);
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_NE(HashOf(changed), expected) << i << ", " << bit;
    }
  }
}

}  // namespace
}  // namespace lingbot
