#ifndef LINGBOT_OUTPUT_PNG_READER_H_
#define LINGBOT_OUTPUT_PNG_READER_H_

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lingbot {

template <typename T>
struct PngImage {
  int height = 0;
  int width = 0;
  std::vector<T> values;  // row-major
};

// Reads a 16-bit grey PNG, sides up to 32,768. With `height` and `width` given, refuses another
// size before memory is taken for it. Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat
// (another kind of picture), kCorruptFile, kShapeMismatch; each names the file.
PngImage<uint16_t> ReadPng16(const std::filesystem::path& path, int height = 0, int width = 0);

// Reads an 8-bit RGB PNG into [height, width, 3]. Throws as ReadPng16.
PngImage<uint8_t> ReadPngRgb(const std::filesystem::path& path, int height = 0, int width = 0);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_PNG_READER_H_
