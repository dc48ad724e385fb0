#include "output/depth_image.h"

#include <png.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "output/png.h"
#include "output/test_support.h"

namespace lingbot {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct DecodedPng {
  int height = 0, width = 0, bits = 0, color = 0;
  std::vector<uint16_t> values;
  std::map<std::string, std::string> texts;
};

struct Source {
  const std::byte* data;
  size_t left;
};

// Reads with libpng's sequential interface; errors of libpng abort the test program.
DecodedPng Decode(const std::vector<std::byte>& bytes) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  Source source = {bytes.data(), bytes.size()};
  png_set_read_fn(png, &source, [](png_structp reader, png_bytep out, png_size_t count) {
    auto* from = static_cast<Source*>(png_get_io_ptr(reader));
    if (count > from->left) png_error(reader, "end of data");
    std::memcpy(out, from->data, count);
    from->data += count;
    from->left -= count;
  });
  png_read_png(png, info, PNG_TRANSFORM_SWAP_ENDIAN, nullptr);
  DecodedPng result;
  result.height = static_cast<int>(png_get_image_height(png, info));
  result.width = static_cast<int>(png_get_image_width(png, info));
  result.bits = png_get_bit_depth(png, info);
  result.color = png_get_color_type(png, info);
  for (int row = 0; row < result.height; ++row) {
    const auto* line = reinterpret_cast<const uint16_t*>(png_get_rows(png, info)[row]);
    result.values.insert(result.values.end(), line, line + result.width);
  }
  png_textp texts = nullptr;
  const int count = png_get_text(png, info, &texts, nullptr);
  for (int i = 0; i < count; ++i) result.texts[texts[i].key] = texts[i].text;
  png_destroy_read_struct(&png, &info, nullptr);
  return result;
}

TEST(DepthImageTest, RereadWithinHalfAStep) {
  const int height = 37;
  const int width = 53;
  std::vector<float> depth;
  for (int i = 0; i < height * width; ++i)
    depth.push_back(0.5f + 3.0f * std::abs(std::sin(0.01f * i)));
  depth[10] = kNan;
  const double unit = ChooseDepthUnit(depth).value();
  const QuantizedDepth quantized = QuantizeDepth(depth, unit);
  const PngText text = {"DepthUnit", "0.5"};
  const DecodedPng png = Decode(EncodePng16(quantized.values, height, width, {&text, 1}));
  EXPECT_EQ(png.height, height);
  EXPECT_EQ(png.width, width);
  EXPECT_EQ(png.bits, 16);
  EXPECT_EQ(png.color, PNG_COLOR_TYPE_GRAY);
  EXPECT_EQ(png.texts.at("DepthUnit"), "0.5");
  for (size_t i = 0; i < depth.size(); ++i) {
    if (i == 10) {
      EXPECT_EQ(png.values[i], 0);
    } else {
      EXPECT_NEAR(png.values[i] * unit, depth[i], unit * 0.5000001) << i;
    }
  }
}

TEST(DepthImageTest, InvalidIsZeroAndValidIsNot) {
  const std::vector<float> depth = {kNan,  kInf, -kInf,    0.0f,    -1.0f,
                                    1e-9f, 1e9f, 65535.0f, 65535.7f};
  const QuantizedDepth quantized = QuantizeDepth(depth, 1.0);
  EXPECT_EQ(quantized.values, (std::vector<uint16_t>{0, 0, 0, 0, 0, 1, 65535, 65535, 65535}));
  EXPECT_EQ(quantized.invalid, 5);
  EXPECT_EQ(quantized.saturated, 2);
  EXPECT_THROW(QuantizeDepth(depth, 0.0), Error);
  EXPECT_THROW(QuantizeDepth(depth, std::nan("")), Error);
}

TEST(DepthImageTest, UnitLeavesHeadroomAndIgnoresAFewWildPixels) {
  std::vector<float> depth(1000, 2.0f);
  depth[0] = 1e30f;
  depth[1] = kInf;
  EXPECT_NEAR(ChooseDepthUnit(depth).value(), 16.0 / 65535.0, 1e-9);
  EXPECT_FALSE(ChooseDepthUnit(std::vector<float>{kNan, 0.0f, -1.0f}).has_value());
  EXPECT_FALSE(ChooseDepthUnit({}).has_value());
}

TEST(Png16Test, RefusesValuesThatDoNotMatchTheShape) {
  const std::vector<uint16_t> values(6);
  EXPECT_THROW(EncodePng16(values, 2, 4, {}), Error);
  EXPECT_THROW(EncodePng16({}, 0, 0, {}), Error);
}

TEST(Png16Test, WhatLibpngRefusesIsAnError) {
  const std::vector<uint16_t> values(2'000'000);  // libpng's default limit is a million columns
  ExpectError(ErrorCode::kInternal, "libpng", [&] { EncodePng16(values, 1, 2'000'000, {}); });
}

}  // namespace
}  // namespace lingbot
