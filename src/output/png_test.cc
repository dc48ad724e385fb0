#include "output/png.h"

#include "output/output_file.h"
#include "output/png_reader.h"
#include "output/test_support.h"

namespace lingbot {
namespace {

std::vector<uint8_t> Colours(int height, int width) {
  std::vector<uint8_t> rgb;
  for (int i = 0; i < 3 * height * width; ++i) rgb.push_back(static_cast<uint8_t>(37 * i + i / 7));
  return rgb;
}

TEST(PngTest, ColoursComeBack) {
  const ScratchFolder folder;
  const std::vector<uint8_t> rgb = Colours(5, 9);
  WriteFile(folder / "a.png", EncodePngRgb(rgb, 5, 9));
  const PngImage<uint8_t> image = ReadPngRgb(folder / "a.png", 5, 9);
  EXPECT_EQ(image.height, 5);
  EXPECT_EQ(image.width, 9);
  EXPECT_EQ(image.values, rgb);
}

TEST(PngTest, SixteenBitsComeBack) {
  const ScratchFolder folder;
  const std::vector<uint16_t> values = {0, 1, 255, 256, 65535, 4660};
  WriteFile(folder / "a.png", EncodePng16(values, 2, 3, {}));
  EXPECT_EQ(ReadPng16(folder / "a.png").values, values);
}

TEST(PngTest, WrongFilesAreNamed) {
  const ScratchFolder folder;
  WriteFile(folder / "colour.png", EncodePngRgb(Colours(5, 9), 5, 9));
  ExpectError(ErrorCode::kUnsupportedFormat, "colour.png is no 16-bit grey",
              [&] { ReadPng16(folder / "colour.png"); });
  ExpectError(ErrorCode::kShapeMismatch, "9x5 pixels instead of 5x9",
              [&] { ReadPngRgb(folder / "colour.png", 9, 5); });
  WriteText(folder / "text.png", "no picture");
  ExpectError(ErrorCode::kUnsupportedFormat, "text.png is no PNG",
              [&] { ReadPngRgb(folder / "text.png"); });
  ExpectError(ErrorCode::kFileNotFound, "none.png", [&] { ReadPngRgb(folder / "none.png"); });
  const std::string whole = ReadText(folder / "colour.png");
  for (size_t length = 8; length < whole.size(); ++length) {
    WriteText(folder / "cut.png", whole.substr(0, length));
    ExpectError(ErrorCode::kCorruptFile, "cut.png", [&] { ReadPngRgb(folder / "cut.png"); });
  }
  ExpectError(ErrorCode::kShapeMismatch, "a PNG of 5 rows",
              [] { EncodePngRgb(Colours(4, 9), 5, 9); });
}

}  // namespace
}  // namespace lingbot
