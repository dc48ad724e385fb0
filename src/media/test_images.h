#ifndef LINGBOT_MEDIA_TEST_IMAGES_H_
#define LINGBOT_MEDIA_TEST_IMAGES_H_

// Small image files of every kind, made in memory for tests.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lingbot/error.h"

namespace lingbot::testing_images {

using FileBytes = std::vector<std::byte>;

struct PngSpec {
  int width = 1, height = 1;
  int colour_type = 2;  // as in the file: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<uint8_t> samples;      // rows as in the file: packed, 16 bits big-endian
  std::vector<uint8_t> palette;      // 3 bytes per entry
  std::vector<uint8_t> transparent;  // alpha per palette entry
  std::vector<uint16_t> key;         // transparent grey or RGB sample
  std::vector<uint8_t> exif;         // a TIFF structure
};
FileBytes MakePng(const PngSpec& spec);
FileBytes MakeRgbPng(int width, int height, const std::vector<uint8_t>& rgb);

enum class JpegKind { kGrey, kYcc420, kYcc444, kCmyk, kYcck, kRgb };

struct JpegSpec {
  int width = 1, height = 1;
  JpegKind kind = JpegKind::kYcc444;
  int quality = 100;
  bool progressive = false;
  bool separate_scans = false;   // one scan per component
  bool adobe_marker = true;      // for kCmyk
  int restart_interval = 0;      // blocks
  std::vector<uint8_t> samples;  // rows of 1, 3 or 4 components
  std::vector<uint8_t> exif;     // a TIFF structure
};
FileBytes MakeJpeg(const JpegSpec& spec);

// A TIFF structure whose only tag is the orientation; as a 32-bit instead of a 16-bit number if
// `wide`.
std::vector<uint8_t> MakeExif(int orientation, bool big_endian = false, bool wide = false);

// A smooth picture with no symmetry, RGB.
std::vector<uint8_t> MakeScene(int width, int height);

// Gives every chunk of a PNG file, as far as it can be walked, the checksum of its contents.
void RepairChecksums(FileBytes* png);

// The code and message of the Error that `body` throws; a failure if it throws none.
struct Thrown {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};
Thrown Catch(const std::function<void()>& body);

}  // namespace lingbot::testing_images

#endif  // LINGBOT_MEDIA_TEST_IMAGES_H_
