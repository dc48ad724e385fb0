#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "media/image.h"
#include "media/test_images.h"

namespace lingbot {
namespace {

using namespace testing_images;
using Samples = std::vector<uint8_t>;
using testing::HasSubstr;

JpegSpec Flat(JpegKind kind, std::initializer_list<int> pixel) {
  JpegSpec spec;
  spec.width = 19;
  spec.height = 11;
  spec.kind = kind;
  for (int i = 0; i < spec.width * spec.height; ++i) {
    for (int sample : pixel) spec.samples.push_back(static_cast<uint8_t>(sample));
  }
  return spec;
}

void ExpectFlat(const JpegSpec& spec, int red, int green, int blue, int tolerance) {
  const Image image = DecodeImage(MakeJpeg(spec), "x.jpg");
  ASSERT_EQ(image.width, spec.width);
  ASSERT_EQ(image.height, spec.height);
  const int expected[3] = {red, green, blue};
  for (size_t i = 0; i < image.rgb.size(); ++i) {
    ASSERT_NEAR(image.rgb[i], expected[i % 3], tolerance) << "sample " << i;
  }
}

TEST(Jpeg, GreyAndColour) {
  ExpectFlat(Flat(JpegKind::kGrey, {77}), 77, 77, 77, 0);
  ExpectFlat(Flat(JpegKind::kYcc444, {200, 100, 50}), 200, 100, 50, 2);
  ExpectFlat(Flat(JpegKind::kYcc420, {200, 100, 50}), 200, 100, 50, 2);
  ExpectFlat(Flat(JpegKind::kRgb, {200, 100, 50}), 200, 100, 50, 1);
}

// Stored inverted: 255 is no ink. round(c * k / 255): 200 * 180 / 255 = 141.2.
TEST(Jpeg, CmykIsInverted) {
  ExpectFlat(Flat(JpegKind::kCmyk, {200, 100, 50, 180}), 141, 71, 35, 1);
  ExpectFlat(Flat(JpegKind::kYcck, {200, 100, 50, 180}), 141, 71, 35, 3);
  ExpectFlat(Flat(JpegKind::kCmyk, {255, 255, 255, 255}), 255, 255, 255, 0);
  ExpectFlat(Flat(JpegKind::kCmyk, {255, 255, 255, 0}), 0, 0, 0, 0);
  JpegSpec unmarked = Flat(JpegKind::kCmyk, {200, 100, 50, 180});
  unmarked.adobe_marker = false;
  ExpectFlat(unmarked, 141, 71, 35, 1);
}

JpegSpec Scene(int width, int height) {
  JpegSpec spec;
  spec.width = width;
  spec.height = height;
  spec.samples = MakeScene(width, height);
  return spec;
}

TEST(Jpeg, EveryWayOfStoringGivesTheSamePicture) {
  const Samples scene = MakeScene(50, 37);
  for (int variant = 0; variant < 4; ++variant) {
    JpegSpec spec = Scene(50, 37);
    spec.progressive = variant == 1;
    spec.separate_scans = variant == 2;
    spec.restart_interval = variant == 3 ? 2 : 0;
    const Samples rgb = DecodeImage(MakeJpeg(spec), "x.jpg").rgb;
    ASSERT_EQ(rgb.size(), scene.size());
    for (size_t i = 0; i < rgb.size(); ++i) ASSERT_NEAR(rgb[i], scene[i], 3) << variant;
  }
}

TEST(Jpeg, BytesAfterTheEndAreIgnored) {
  FileBytes file = MakeJpeg(Scene(16, 16));
  file.resize(file.size() + 1000, std::byte{0x55});
  EXPECT_EQ(DecodeImage(file, "x.jpg").width, 16);
}

size_t Find(const FileBytes& file, int marker) {
  for (size_t i = 2; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == static_cast<std::byte>(marker)) return i;
  }
  ADD_FAILURE() << "no marker " << marker;
  return 0;
}

TEST(Jpeg, StrayBytesBetweenSegmentsAreIgnored) {
  FileBytes file = MakeJpeg(Scene(16, 16));
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(Find(file, 0xC0)), 5, std::byte{0x55});
  EXPECT_EQ(DecodeImage(file, "x.jpg").width, 16);
}

TEST(Jpeg, KindsThatAreNotReadAreNamed) {
  const FileBytes good = MakeJpeg(Scene(16, 16));
  const size_t frame = Find(good, 0xC0);
  FileBytes lossless = good, arithmetic = good, deep = good, unknown_height = good;
  lossless[frame + 1] = std::byte{0xC3};
  arithmetic[frame + 1] = std::byte{0xC9};
  deep[frame + 4] = std::byte{12};
  unknown_height[frame + 5] = unknown_height[frame + 6] = std::byte{0};
  for (const FileBytes& file : {lossless, arithmetic, deep, unknown_height}) {
    const Thrown thrown = Catch([&] { DecodeImage(file, "odd.jpg"); });
    EXPECT_EQ(thrown.code, ErrorCode::kUnsupportedFormat);
    EXPECT_THAT(thrown.message, HasSubstr("odd.jpg"));
  }
}

// A scan cut short in the middle of a file that still has its end marker: only decoding can see it.
TEST(Jpeg, MissingMiddleIsAnError) {
  JpegSpec spec = Scene(64, 64);
  for (size_t i = 0; i < spec.samples.size(); ++i)
    spec.samples[i] ^= static_cast<uint8_t>(i * i >> 3);
  FileBytes file = MakeJpeg(spec);
  file.erase(file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2), file.end() - 2);
  EXPECT_NO_THROW(InspectImage(file, "cut.jpg"));
  const Thrown thrown = Catch([&] { DecodeImage(file, "cut.jpg"); });
  EXPECT_EQ(thrown.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(thrown.message, HasSubstr("cut.jpg"));
}

TEST(Jpeg, EndlessScansAreRefused) {
  JpegSpec spec = Scene(16, 16);
  spec.separate_scans = true;
  FileBytes file = MakeJpeg(spec);
  const auto first = file.begin() + static_cast<std::ptrdiff_t>(Find(file, 0xDA));
  const FileBytes scans(first, file.end() - 2);
  for (int i = 0; i < 300; ++i) file.insert(file.end() - 2, scans.begin(), scans.end());
  EXPECT_EQ(Catch([&] { DecodeImage(file, "x.jpg"); }).code, ErrorCode::kCorruptFile);
}

TEST(Jpeg, SizeMustBeThatOfTheFrame) {
  const FileBytes good = MakeJpeg(Scene(16, 16));
  const size_t frame = Find(good, 0xC0);
  // A second frame header, of another size, after the first.
  FileBytes file = good;
  FileBytes header(good.begin() + static_cast<std::ptrdiff_t>(frame),
                   good.begin() + static_cast<std::ptrdiff_t>(frame) + 19);
  header[6] = std::byte{8};
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(frame), header.begin(), header.end());
  EXPECT_EQ(Catch([&] { DecodeImage(file, "x.jpg"); }).code, ErrorCode::kCorruptFile);
}

}  // namespace
}  // namespace lingbot
