#ifndef LINGBOT_MEDIA_TEST_MORE_IMAGES_H_
#define LINGBOT_MEDIA_TEST_MORE_IMAGES_H_

// WebP, TIFF and BMP files for tests.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "media/test_images.h"

namespace lingbot::testing_images {

struct WebpSpec {
  int width = 1, height = 1;
  int channels = 3;  // 4: with alpha
  bool lossy = false;
  std::vector<uint8_t> samples;  // [height, width, channels]
  std::vector<uint8_t> exif;     // a TIFF structure
  bool animated = false;         // say that there are more pictures
};
FileBytes MakeWebp(const WebpSpec& spec);

struct TiffSpec {
  int width = 1, height = 1;
  int channels = 3;     // 1 grey or index, 3 RGB, 4 RGBA or CMYK
  int bits = 8;         // 1, 8, 16 (of this machine's byte order)
  int photometric = 2;  // as in the file: 1 grey, 2 RGB, 3 palette, 5 CMYK
  int orientation = 1;
  int compression = 5;            // 1 none, 5 LZW, 8 deflate
  int sample_format = 1;          // 3: floating point
  bool tiled = false;             // of 16x16
  bool big = false;               // BigTIFF
  std::vector<uint8_t> samples;   // rows as in the file
  std::vector<uint16_t> palette;  // 256 red, 256 green, 256 blue
};
void WriteTiff(const std::filesystem::path& path, const TiffSpec& spec);

struct BmpSpec {
  int width = 1, height = 1;
  int bits = 24;
  bool top_down = false;
  uint32_t compression = 0;
  std::vector<uint32_t> masks;   // red, green, blue and maybe alpha, for compression 3
  std::vector<uint8_t> palette;  // RGB
  std::vector<uint8_t> rows;     // from the top, without the padding to 4 bytes
};
FileBytes MakeBmp(const BmpSpec& spec);

}  // namespace lingbot::testing_images

#endif  // LINGBOT_MEDIA_TEST_MORE_IMAGES_H_
