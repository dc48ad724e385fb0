#ifndef LINGBOT_OUTPUT_PNG_H_
#define LINGBOT_OUTPUT_PNG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lingbot {

struct PngText {
  std::string key;    // 1 to 79 ASCII characters
  std::string value;  // ASCII
};

// Encodes a 16-bit grey PNG with text chunks in memory. Throws kShapeMismatch, kInternal (libpng's
// message).
std::vector<std::byte> EncodePng16(std::span<const uint16_t> values, int height, int width,
                                   std::span<const PngText> texts);

// Encodes an 8-bit RGB PNG; rgb is [height, width, 3]. Throws as EncodePng16.
std::vector<std::byte> EncodePngRgb(std::span<const uint8_t> rgb, int height, int width);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_PNG_H_
