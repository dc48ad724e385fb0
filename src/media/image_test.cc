#include "media/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "media/test_images.h"

namespace lingbot {
namespace {

using namespace testing_images;
using testing::HasSubstr;

FileBytes FromText(std::string_view text) {
  FileBytes bytes;
  for (char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

Thrown Decode(const FileBytes& file, const DecodeOptions& options = {}) {
  const Thrown inspected = Catch([&] { InspectImage(file, "photo.png", options); });
  const Thrown decoded = Catch([&] { DecodeImage(file, "photo.png", options); });
  EXPECT_EQ(inspected.message, decoded.message);
  EXPECT_THAT(decoded.message, HasSubstr("photo.png"));
  return decoded;
}

TEST(DecodeImage, ContentDecidesNotTheName) {
  const FileBytes png = MakeRgbPng(8, 8, MakeScene(8, 8));
  EXPECT_EQ(DecodeImage(png, "really_a_png.jpg").rgb, MakeScene(8, 8));
  JpegSpec spec;
  spec.width = spec.height = 8;
  spec.samples = MakeScene(8, 8);
  EXPECT_EQ(DecodeImage(MakeJpeg(spec), "really_a_jpeg.png").width, 8);
}

TEST(DecodeImage, SaysWhatAFileIsInstead) {
  using namespace std::string_view_literals;
  for (const auto& [content, kind] : {std::pair{"just some notes\n"sv, "text"},
                                      {"\0\0\0\x18"
                                       "ftypheic\0\0\0\0"sv,
                                       "HEIF"},
                                      {"GIF89a\x01\0"sv, "GIF"},
                                      {"<!DOCTYPE html>"sv, "web page"},
                                      {"version https://git-lfs.github.com/spec/v1"sv, "Git LFS"},
                                      {"\0\x01\x02\x03"sv, "neither"}}) {
    const Thrown thrown = Decode(FromText(content));
    EXPECT_EQ(thrown.code, ErrorCode::kUnsupportedFormat);
    EXPECT_THAT(thrown.message, HasSubstr(kind));
    EXPECT_THAT(thrown.message, HasSubstr("JPEG, PNG, WebP, TIFF or BMP"));
  }
}

TEST(DecodeImage, EmptyFile) {
  const Thrown thrown = Decode({});
  EXPECT_EQ(thrown.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(thrown.message, HasSubstr("empty"));
}

TEST(DecodeImage, RefusesMorePixelsThanAllowed) {
  DecodeOptions options;
  options.max_pixels = 63;
  const FileBytes file = MakeRgbPng(8, 8, MakeScene(8, 8));
  EXPECT_EQ(Decode(file, options).code, ErrorCode::kUnsupportedFormat);
  options.max_pixels = 64;
  EXPECT_EQ(DecodeImage(file, "x", options).width, 8);
}

// Changes the size in a PNG's header.
FileBytes WithSize(FileBytes png, uint32_t width, uint32_t height) {
  for (int i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<std::byte>(width >> (24 - 8 * i));
    png[20 + i] = static_cast<std::byte>(height >> (24 - 8 * i));
  }
  RepairChecksums(&png);
  return png;
}

TEST(DecodeImage, BombsAreRefusedByTheirHeader) {
  const FileBytes png = MakeRgbPng(8, 8, MakeScene(8, 8));
  const Thrown huge = Decode(WithSize(png, 100000, 100000));
  EXPECT_EQ(huge.code, ErrorCode::kUnsupportedFormat);
  EXPECT_THAT(huge.message, HasSubstr("100000x100000"));
  EXPECT_THAT(huge.message, HasSubstr("300 million"));
  EXPECT_EQ(Decode(WithSize(png, 0x7FFFFFFF, 0x7FFFFFFF)).code, ErrorCode::kUnsupportedFormat);
  for (const auto& [width, height] : {std::pair{0u, 8u}, {8u, 0u}, {0xFFFFFFFFu, 1u}}) {
    EXPECT_EQ(Decode(WithSize(png, width, height)).code, ErrorCode::kCorruptFile);
  }
  // Within the limit, but the few bytes there are cannot unpack to so much.
  const Thrown hollow = Decode(WithSize(png, 17000, 17000));
  EXPECT_EQ(hollow.code, ErrorCode::kCorruptFile);
  EXPECT_THAT(hollow.message, HasSubstr("cannot hold 17000x17000"));
}

// Deflate's best case: the bound on the amount of data must not refuse it.
TEST(DecodeImage, FlatImagesPackVeryTightly) {
  PngSpec spec;
  spec.width = 8000;
  spec.height = 1000;
  spec.colour_type = 0;
  spec.samples.assign(8000 * 1000, 0);
  EXPECT_EQ(DecodeImage(MakePng(spec), "flat.png").height, 1000);
  JpegSpec grey;
  grey.width = 4000;
  grey.height = 1000;
  grey.kind = JpegKind::kGrey;
  grey.samples.assign(4000 * 1000, 128);
  grey.progressive = true;
  EXPECT_EQ(DecodeImage(MakeJpeg(grey), "flat.jpg").height, 1000);
}

TEST(DecodeImage, LargeDimensionsAreRead) {
  PngSpec spec;
  spec.width = 1'500'000;  // above libpng's default limit of a side
  spec.height = 2;
  spec.colour_type = 0;
  spec.bit_depth = 1;
  spec.samples.assign(1'500'000 / 8 * 2, 0x80);
  const Image image = DecodeImage(MakePng(spec), "wide.png");
  EXPECT_EQ(image.width, 1'500'000);
  EXPECT_EQ(image.rgb[3 * 8], 255);
  EXPECT_EQ(image.rgb[3 * 9], 0);
}

}  // namespace
}  // namespace lingbot
