#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "media/image.h"
#include "media/test_images.h"

namespace lingbot {
namespace {

using namespace testing_images;
using Samples = std::vector<uint8_t>;

PngSpec Spec(int width, int height, int colour_type, int bit_depth, Samples samples) {
  PngSpec spec;
  spec.width = width;
  spec.height = height;
  spec.colour_type = colour_type;
  spec.bit_depth = bit_depth;
  spec.samples = std::move(samples);
  return spec;
}

Samples Rgb(const PngSpec& spec) { return DecodeImage(MakePng(spec), "x.png").rgb; }

Samples Grey(std::initializer_list<int> levels) {
  Samples rgb;
  for (int level : levels) rgb.insert(rgb.end(), 3, static_cast<uint8_t>(level));
  return rgb;
}

TEST(Png, GreyOfEveryDepth) {
  EXPECT_EQ(Rgb(Spec(4, 1, 0, 1, {0b01100000})), Grey({0, 255, 255, 0}));
  EXPECT_EQ(Rgb(Spec(4, 1, 0, 2, {0b00011011})), Grey({0, 85, 170, 255}));
  EXPECT_EQ(Rgb(Spec(3, 1, 0, 4, {0x07, 0xF0})), Grey({0, 119, 255}));
  EXPECT_EQ(Rgb(Spec(3, 1, 0, 8, {0, 100, 255})), Grey({0, 100, 255}));
}

// Every 16-bit level, so that neither clipping (white) nor dropping the low byte passes.
TEST(Png, SixteenBitsAreScaled) {
  Samples samples;
  for (int v = 0; v < 65536; ++v) {
    samples.insert(samples.end(), {static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)});
  }
  const Samples rgb = Rgb(Spec(256, 256, 0, 16, samples));
  for (int v = 0; v < 65536; ++v) {
    const int expected = static_cast<int>(std::lround(v * 255.0 / 65535.0));
    ASSERT_EQ(rgb[3 * v], expected) << v;
    ASSERT_EQ(rgb[3 * v + 2], expected) << v;
  }
}

TEST(Png, SixteenBitColour) {
  EXPECT_EQ(Rgb(Spec(1, 1, 2, 16, {0x80, 0x00, 0xFF, 0xFF, 0x01, 0x00})), (Samples{128, 255, 1}));
  EXPECT_EQ(Rgb(Spec(1, 1, 6, 16, {0x80, 0x00, 0xFF, 0xFF, 0x01, 0x00, 0xFF, 0xFF})),
            (Samples{128, 255, 1}));
  EXPECT_EQ(Rgb(Spec(1, 1, 4, 16, {0x12, 0x34, 0, 0})), Grey({255}));
}

TEST(Png, EightBitColour) {
  EXPECT_EQ(Rgb(Spec(2, 1, 2, 8, {1, 2, 3, 250, 251, 252})), (Samples{1, 2, 3, 250, 251, 252}));
  EXPECT_EQ(Rgb(Spec(2, 1, 4, 8, {10, 255, 10, 0})), Grey({10, 255}));
}

// Pillow's ImagingAlphaComposite for an opaque white background, which works with 7 more bits.
int PillowOverWhite(int colour, int alpha) {
  if (alpha == 0) return 255;
  const int blend = 255 * (255 - alpha);
  const int out_alpha = alpha * 255 + blend;
  const int weight = static_cast<int>(int64_t{alpha} * 255 * 255 * 128 / out_alpha);
  const int sum = colour * weight + 255 * (255 * 128 - weight) + (128 << 7);
  return (((sum >> 8) + sum) >> 8) >> 7;
}

TEST(Png, AlphaIsBlendedOntoWhiteAsPillowDoes) {
  Samples samples;
  for (int alpha = 0; alpha < 256; ++alpha) {
    for (int colour = 0; colour < 256; ++colour) {
      const auto c = static_cast<uint8_t>(colour);
      samples.insert(samples.end(),
                     {c, static_cast<uint8_t>(255 - c), 0, static_cast<uint8_t>(alpha)});
    }
  }
  for (bool interlaced : {false, true}) {
    PngSpec spec = Spec(256, 256, 6, 8, samples);
    spec.interlaced = interlaced;
    const Samples rgb = Rgb(spec);
    for (int i = 0; i < 65536; ++i) {
      const int alpha = i / 256, colour = i % 256;
      ASSERT_EQ(rgb[3 * i], PillowOverWhite(colour, alpha)) << colour << " " << alpha;
      ASSERT_EQ(rgb[3 * i + 1], PillowOverWhite(255 - colour, alpha));
      ASSERT_EQ(rgb[3 * i + 2], PillowOverWhite(0, alpha));
    }
  }
}

TEST(Png, PalettesOfEveryDepth) {
  const Samples palette = {255, 0, 0, 0, 255, 0, 0, 0, 255, 7, 8, 9};
  const Samples expected = {0, 255, 0, 255, 0, 0, 7, 8, 9, 0, 0, 255};
  for (const auto& [depth, samples] :
       {std::pair<int, Samples>{2, {0b01001110}}, {4, {0x10, 0x32}}, {8, {1, 0, 3, 2}}}) {
    PngSpec spec = Spec(4, 1, 3, depth, samples);
    spec.palette = palette;
    EXPECT_EQ(Rgb(spec), expected) << depth;
  }
  PngSpec bits = Spec(2, 1, 3, 1, {0b10000000});
  bits.palette = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Rgb(bits), (Samples{4, 5, 6, 1, 2, 3}));
}

TEST(Png, TransparencyChunks) {
  PngSpec palette = Spec(3, 1, 3, 8, {0, 1, 2});
  palette.palette = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  palette.transparent = {0, 128};
  EXPECT_EQ(Rgb(palette), (Samples{255, 255, 255, 127, 255, 127, 0, 0, 255}));
  PngSpec grey = Spec(2, 1, 0, 8, {50, 51});
  grey.key = {50};
  EXPECT_EQ(Rgb(grey), Grey({255, 51}));
  // Compared at full depth: 0x3201 and 0x3200 have the same upper byte.
  PngSpec deep = Spec(2, 1, 0, 16, {0x32, 0x01, 0x32, 0x00});
  deep.key = {0x3201};
  EXPECT_EQ(Rgb(deep), Grey({255, 50}));
  PngSpec rgb = Spec(2, 1, 2, 8, {1, 2, 3, 1, 2, 4});
  rgb.key = {1, 2, 3};
  EXPECT_EQ(Rgb(rgb), (Samples{255, 255, 255, 1, 2, 4}));
}

TEST(Png, InterlacedEqualsPlain) {
  for (const auto& [colour_type, depth] : {std::pair{0, 1}, {0, 16}, {2, 8}, {4, 8}, {6, 16}}) {
    for (int size : {1, 2, 3, 5, 8, 9, 17}) {
      const int channels[] = {1, 0, 3, 1, 2, 0, 4};
      const size_t stride = (size * channels[colour_type] * depth + 7) / 8;
      Samples samples(stride * (size + 1));
      for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<uint8_t>(i * 37 + 11);
      PngSpec spec = Spec(size, size + 1, colour_type, depth, samples);
      const Samples plain = Rgb(spec);
      spec.interlaced = true;
      EXPECT_EQ(Rgb(spec), plain) << colour_type << " " << depth << " " << size;
    }
  }
}

TEST(Png, PaletteIndexOutOfRangeIsHarmless) {
  PngSpec spec = Spec(4, 1, 3, 8, {0, 1, 200, 255});
  spec.palette = {9, 9, 9};
  FileBytes file = MakePng(spec);
  EXPECT_EQ(DecodeImage(file, "x.png").rgb.size(), 12u);
}

}  // namespace
}  // namespace lingbot
