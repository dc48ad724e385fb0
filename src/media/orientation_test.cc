#include "media/orientation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "media/exif.h"
#include "media/image.h"
#include "media/test_images.h"

namespace lingbot {
namespace {

using namespace testing_images;

constexpr int kWidth = 48,
              kHeight = 32;  // whole JPEG blocks, so that a turn moves blocks onto blocks

// Where the pixel in stored row r and column c lies in the upright image, as the standard's table
// says
// ("0th row, 0th column").
std::pair<int, int> UprightXy(int orientation, int r, int c) {
  const int right = kWidth - 1, bottom = kHeight - 1;
  switch (orientation) {
    case 2:
      return {right - c, r};
    case 3:
      return {right - c, bottom - r};
    case 4:
      return {c, bottom - r};
    case 5:
      return {r, c};
    case 6:
      return {right - r, c};
    case 7:
      return {right - r, bottom - c};
    case 8:
      return {r, bottom - c};
    default:
      return {c, r};
  }
}

struct Stored {
  int width, height;
  std::vector<uint8_t> rgb;
};

Stored StoredScene(int orientation) {
  const std::vector<uint8_t> scene = MakeScene(kWidth, kHeight);
  Stored stored{kWidth, kHeight, {}};
  if (orientation >= 5) std::swap(stored.width, stored.height);
  for (int r = 0; r < stored.height; ++r) {
    for (int c = 0; c < stored.width; ++c) {
      const auto [x, y] = UprightXy(orientation, r, c);
      const uint8_t* pixel = &scene[3 * (y * kWidth + x)];
      stored.rgb.insert(stored.rgb.end(), pixel, pixel + 3);
    }
  }
  return stored;
}

int Difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

class OrientationTest : public testing::TestWithParam<int> {};

TEST_P(OrientationTest, PngComesOutUpright) {
  for (bool big_endian : {false, true}) {
    const Stored stored = StoredScene(GetParam());
    PngSpec spec;
    spec.width = stored.width;
    spec.height = stored.height;
    spec.samples = stored.rgb;
    spec.exif = MakeExif(GetParam(), big_endian);
    const FileBytes file = MakePng(spec);
    const Image image = DecodeImage(file, "x.png");
    EXPECT_EQ(image.width, kWidth);
    EXPECT_EQ(image.height, kHeight);
    EXPECT_EQ(image.rgb, MakeScene(kWidth, kHeight));
    EXPECT_EQ(InspectImage(file, "x.png"), (ImageSize{kWidth, kHeight}));
  }
}

// The picture that stored rows of RGB show, by the standard's table.
std::vector<uint8_t> MoveUpright(int orientation, const Image& stored) {
  std::vector<uint8_t> upright(stored.rgb.size());
  for (int r = 0; r < stored.height; ++r) {
    for (int c = 0; c < stored.width; ++c) {
      const auto [x, y] = UprightXy(orientation, r, c);
      std::copy_n(&stored.rgb[3 * (r * stored.width + c)], 3, &upright[3 * (y * kWidth + x)]);
    }
  }
  return upright;
}

TEST_P(OrientationTest, JpegPixelsAreMovedNotChanged) {
  const Stored stored = StoredScene(GetParam());
  JpegSpec spec;
  spec.width = stored.width;
  spec.height = stored.height;
  spec.samples = stored.rgb;
  const Image plain = DecodeImage(MakeJpeg(spec), "plain.jpg");
  spec.exif = MakeExif(GetParam(), true);
  const FileBytes file = MakeJpeg(spec);
  const Image image = DecodeImage(file, "x.jpg");
  EXPECT_EQ(image.width, kWidth);
  EXPECT_EQ(image.height, kHeight);
  EXPECT_EQ(image.rgb, MoveUpright(GetParam(), plain));
  EXPECT_EQ(InspectImage(file, "x.jpg"), (ImageSize{kWidth, kHeight}));
}

// All eight files of one scene give one picture within a level. In grey: turning a colour picture
// before it is encoded moves luma and chroma by a level each, whoever decodes it.
TEST_P(OrientationTest, JpegsOfOneSceneAgreeWithinOneLevel) {
  std::vector<Image> images;
  for (int orientation : {1, GetParam()}) {
    const Stored stored = StoredScene(orientation);
    JpegSpec spec;
    spec.width = stored.width;
    spec.height = stored.height;
    spec.kind = JpegKind::kGrey;
    for (size_t i = 0; i < stored.rgb.size(); i += 3) spec.samples.push_back(stored.rgb[i]);
    spec.exif = MakeExif(orientation);
    images.push_back(DecodeImage(MakeJpeg(spec), "x.jpg"));
  }
  EXPECT_LE(Difference(images[0].rgb, images[1].rgb), 1);
}

INSTANTIATE_TEST_SUITE_P(All, OrientationTest, testing::Range(1, 9));

Orientation Parse(const std::vector<uint8_t>& block) {
  return ExifOrientation(std::as_bytes(std::span(block)));
}

TEST(Exif, ReadsShortAndLongNumbers) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (bool big_endian : {false, true}) {
      EXPECT_EQ(static_cast<int>(Parse(MakeExif(orientation, big_endian, false))), orientation);
      EXPECT_EQ(static_cast<int>(Parse(MakeExif(orientation, big_endian, true))), orientation);
    }
  }
}

TEST(Exif, NonsenseIsUpright) {
  for (int orientation : {0, 9, 255, 65535}) {
    EXPECT_EQ(Parse(MakeExif(orientation)), Orientation::kUpright) << orientation;
  }
  EXPECT_EQ(Parse({}), Orientation::kUpright);
  EXPECT_EQ(Parse(std::vector<uint8_t>(70000, 'I')), Orientation::kUpright);
}

TEST(Exif, DamageIsHarmless) {
  const std::vector<uint8_t> block = MakeExif(6);
  for (size_t i = 0; i < block.size(); ++i) {
    Parse({block.begin(), block.begin() + static_cast<std::ptrdiff_t>(i)});
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> flipped = block;
      flipped[i] = static_cast<uint8_t>(flipped[i] ^ 1 << bit);
      const int orientation = static_cast<int>(Parse(flipped));
      EXPECT_TRUE(orientation >= 1 && orientation <= 8);
    }
  }
}

}  // namespace
}  // namespace lingbot
