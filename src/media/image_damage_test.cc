// Every truncation and many corruptions of small files: an error that names the file, or a whole
// image.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "media/image.h"
#include "media/test_images.h"

namespace lingbot {
namespace {

using namespace testing_images;
using testing::HasSubstr;

constexpr int kSide = 12;

FileBytes SmallPng(bool interlaced, int colour_type) {
  PngSpec spec;
  spec.width = spec.height = kSide;
  spec.colour_type = colour_type;
  spec.interlaced = interlaced;
  const size_t channels = colour_type == 6 ? 4 : colour_type == 3 ? 1 : 3;
  for (size_t i = 0; i < channels * kSide * kSide; ++i) {
    spec.samples.push_back(static_cast<uint8_t>(colour_type == 3 ? i % 4 : i * i));
  }
  if (colour_type == 3) {
    spec.palette = {1, 2, 3, 40, 50, 60, 70, 80, 90, 255, 0, 0};
    spec.transparent = {0, 100, 255};
  }
  spec.exif = MakeExif(6);
  return MakePng(spec);
}

FileBytes SmallJpeg(JpegKind kind, bool progressive, int restart_interval) {
  JpegSpec spec;
  spec.width = spec.height = kSide;
  spec.kind = kind;
  spec.quality = 60;
  spec.progressive = progressive;
  spec.restart_interval = restart_interval;
  const size_t channels = kind == JpegKind::kYcck ? 4 : 3;
  for (size_t i = 0; i < channels * kSide * kSide; ++i) {
    spec.samples.push_back(static_cast<uint8_t>(i * 7));
  }
  spec.exif = MakeExif(8);
  return MakeJpeg(spec);
}

std::vector<FileBytes> Pngs() {
  return {SmallPng(false, 2), SmallPng(true, 6), SmallPng(false, 6), SmallPng(false, 3)};
}

std::vector<FileBytes> Jpegs() {
  return {SmallJpeg(JpegKind::kYcc420, false, 0), SmallJpeg(JpegKind::kYcc444, true, 0),
          SmallJpeg(JpegKind::kYcck, false, 1)};
}

// Decodes what may be damaged; returns whether it could. Anything but an Error or a whole image is
// a failure.
bool Survives(const FileBytes& file) {
  DecodeOptions options;
  options.max_pixels = 1 << 20;
  try {
    const Image image = DecodeImage(file, "hurt", options);
    EXPECT_EQ(image.rgb.size(), size_t{3} * image.width * image.height);
    const ImageSize size = InspectImage(file, "hurt", options);
    EXPECT_EQ(size, (ImageSize{image.width, image.height}));
    return true;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("hurt"));
    return false;
  }
}

TEST(Damage, EveryTruncationIsAnErrorBeforeDecoding) {
  std::vector<FileBytes> files = Pngs();
  for (const FileBytes& file : Jpegs()) files.push_back(file);
  for (const FileBytes& file : files) {
    ASSERT_TRUE(Survives(file));
    for (size_t length = 0; length < file.size(); ++length) {
      const FileBytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
      const Thrown thrown = Catch([&] { InspectImage(cut, "cut.png"); });
      ASSERT_EQ(thrown.code, ErrorCode::kCorruptFile) << length << ": " << thrown.message;
      ASSERT_THAT(thrown.message, HasSubstr("cut.png"));
      ASSERT_FALSE(Survives(cut)) << length;
    }
  }
}

TEST(Damage, EveryChangedByteOfAPngIsSeen) {
  for (const FileBytes& file : Pngs()) {
    for (size_t i = 0; i < file.size(); ++i) {
      for (int mask : {0x01, 0x20, 0x80, 0xFF}) {
        FileBytes changed = file;
        changed[i] ^= static_cast<std::byte>(mask);
        ASSERT_FALSE(Survives(changed)) << "byte " << i << " mask " << mask;
      }
    }
  }
}

TEST(Damage, ChangedBytesWithGoodChecksumsAreHarmless) {
  for (const FileBytes& file : Pngs()) {
    for (size_t i = 8; i < file.size(); ++i) {
      for (int mask : {0x01, 0x04, 0x20, 0x80, 0xFF}) {
        FileBytes changed = file;
        changed[i] ^= static_cast<std::byte>(mask);
        RepairChecksums(&changed);
        Survives(changed);
      }
    }
  }
}

TEST(Damage, ChangedBytesOfAJpegAreHarmless) {
  for (const FileBytes& file : Jpegs()) {
    for (size_t i = 0; i < file.size(); ++i) {
      for (int mask : {0x01, 0x04, 0x10, 0x80, 0xFF}) {
        FileBytes changed = file;
        changed[i] ^= static_cast<std::byte>(mask);
        Survives(changed);
      }
    }
  }
}

}  // namespace
}  // namespace lingbot
