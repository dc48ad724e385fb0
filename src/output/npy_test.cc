#include "output/npy.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "output/test_support.h"

namespace lingbot {
namespace {

TEST(NpyTest, BytesAreAsTheFormatSays) {
  const ScratchFolder folder;
  const std::vector<float> values = {1.0f, -2.5f, 3.25f, 0.0f, 5.0f, 6.0f};
  WriteNpy(folder / "a.npy", values, 2, 3);
  const std::string bytes = ReadText(folder / "a.npy");
  ASSERT_EQ(bytes.size(), 128 + 24u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]), 118);
  EXPECT_EQ(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"), 10u);
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128, values.data(), 24), 0);
}

TEST(NpyTest, RoundTripKeepsEveryBit) {
  const ScratchFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 56 * 84; ++i)
    values.push_back(std::exp(0.01f * static_cast<float>(i - 2000)));
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[4] = -std::numeric_limits<float>::infinity();
  WriteNpy(folder / "a.npy", values, 56, 84);
  const FloatImage image = ReadNpy(folder / "a.npy");
  EXPECT_EQ(image.height, 56);
  EXPECT_EQ(image.width, 84);
  ASSERT_EQ(image.values.size(), values.size());
  EXPECT_EQ(std::memcmp(image.values.data(), values.data(), values.size() * sizeof(float)), 0);
}

TEST(NpyTest, RefusesValuesThatDoNotMatchTheShape) {
  const ScratchFolder folder;
  const std::vector<float> values(6);
  ExpectError(ErrorCode::kShapeMismatch, "6 values", [&] { WriteNpy(folder / "a", values, 2, 4); });
  ExpectError(ErrorCode::kShapeMismatch, "0 rows", [&] { WriteNpy(folder / "a", {}, 0, 4); });
  EXPECT_EQ(CountFiles(folder.path()), 0);
}

TEST(NpyTest, DamagedFilesAreRefused) {
  const ScratchFolder folder;
  const std::vector<float> values(6, 1.0f);
  WriteNpy(folder / "a.npy", values, 2, 3);
  const std::string good = ReadText(folder / "a.npy");
  for (size_t length = 0; length < good.size(); ++length) {
    WriteText(folder / "b.npy", good.substr(0, length));
    EXPECT_THROW(ReadNpy(folder / "b.npy"), Error) << length;
  }
  for (const std::string shape :
       {"(-1, 3)", "(99999999999, 3)", "(2000000, 9)", "(2, 3, 1)", "(6,)"}) {
    std::string bad = good;
    bad.replace(bad.find("(2, 3), }"), shape.size(), shape);
    WriteText(folder / "b.npy", bad);
    EXPECT_THROW(ReadNpy(folder / "b.npy"), Error) << shape;
  }
  ExpectError(ErrorCode::kFileNotFound, "none.npy", [&] { ReadNpy(folder / "none.npy"); });
}

}  // namespace
}  // namespace lingbot
