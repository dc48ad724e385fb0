#include "output/ply.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "output/test_support.h"

namespace lingbot {
namespace {

std::vector<ColoredPoint> Points(int count) {
  std::vector<ColoredPoint> points;
  for (int i = 0; i < count; ++i) {
    const float x = static_cast<float>(i);
    points.push_back(
        {x, -0.5f * x, 1e-3f * x, static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8), 9});
  }
  return points;
}

TEST(PlyTest, HeaderAndBytes) {
  const ScratchFolder folder;
  const std::vector<std::string> comments = {"world axes", "two\nlines"};
  WritePly(folder / "a.ply", Points(3), comments);
  const std::string expected_header =
      "ply\nformat binary_little_endian 1.0\ncomment world axes\ncomment two lines\nelement vertex "
      "3\n"
      "property float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar "
      "green\n"
      "property uchar blue\nend_header\n";
  const std::string bytes = ReadText(folder / "a.ply");
  EXPECT_EQ(bytes.substr(0, expected_header.size()), expected_header);
  ASSERT_EQ(bytes.size(), expected_header.size() + 3 * 15);
  float y;
  std::memcpy(&y, bytes.data() + expected_header.size() + 15 * 2 + 4, sizeof(y));
  EXPECT_EQ(y, -1.0f);
  EXPECT_EQ(bytes.back(), 9);
}

TEST(PlyTest, RoundTripAcrossWriteBuffers) {
  const ScratchFolder folder;
  for (const int count : {0, 1, 16'383, 16'384, 16'385, 50'000}) {
    const std::vector<ColoredPoint> points = Points(count);
    WritePly(folder / "a.ply", points, {});
    EXPECT_EQ(CheckPly(folder / "a.ply"), points.size());
    const std::vector<ColoredPoint> back = ReadPly(folder / "a.ply");
    ASSERT_EQ(back.size(), points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(back[i].x, points[i].x);
      ASSERT_EQ(back[i].y, points[i].y);
      ASSERT_EQ(back[i].z, points[i].z);
      ASSERT_EQ(back[i].red, points[i].red);
      ASSERT_EQ(back[i].green, points[i].green);
      ASSERT_EQ(back[i].blue, points[i].blue);
    }
  }
}

TEST(PlyTest, RefusesVerticesThatAreNotFinite) {
  const ScratchFolder folder;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<ColoredPoint> points = Points(5);
    points[3].y = bad;
    ExpectError(ErrorCode::kInvalidArgument, "vertex 3 of 5",
                [&] { WritePly(folder / "a.ply", points, {}); });
  }
  EXPECT_EQ(CountFiles(folder.path()), 0);
}

TEST(PlyTest, DamagedFilesAreRefused) {
  const ScratchFolder folder;
  WritePly(folder / "a.ply", Points(4), {});
  const std::string good = ReadText(folder / "a.ply");
  for (size_t length = 0; length < good.size(); ++length) {
    WriteText(folder / "b.ply", good.substr(0, length));
    EXPECT_THROW(CheckPly(folder / "b.ply"), Error) << length;
  }
  WriteText(folder / "b.ply", good + "x");
  EXPECT_THROW(CheckPly(folder / "b.ply"), Error);
  // 2^64 / 15 + 1 vertices: their bytes would wrap around to few.
  for (const std::string count :
       {"5", "1229782938247303442", "99999999999999999999", "-4", "4 4", ""}) {
    std::string bad = good;
    bad.replace(bad.find("vertex 4") + 7, 1, count);
    WriteText(folder / "b.ply", bad);
    EXPECT_THROW(ReadPly(folder / "b.ply"), Error) << count;
  }
}

TEST(PlyTest, FullDiskLeavesNoFile) {
  const ScratchFolder folder;
  {
    const FileSizeLimit limit(1000);
    ExpectError(ErrorCode::kFileUnwritable, "a.ply",
                [&] { WritePly(folder / "a.ply", Points(100), {}); });
  }
  EXPECT_EQ(CountFiles(folder.path()), 0);
}

}  // namespace
}  // namespace lingbot
