#ifndef LINGBOT_MEDIA_IMAGE_H_
#define LINGBOT_MEDIA_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot {

// One upright frame of the input.
struct Image {
  int width = 0, height = 0;  // pixels
  std::vector<uint8_t> rgb;   // [height, width, 3], sRGB as stored
  double timestamp = 0;       // seconds; for image folders source_index / frames_per_second
  std::string name;           // file name without folder, for messages and output tables; raw bytes
  int64_t source_index = 0;   // position in the input before stride and skipping, from 0
};

struct DecodeOptions {
  // Larger images are refused before any memory is allocated for their pixels.
  int64_t max_pixels = 300'000'000;
};

// Size of an image as it will be decoded, that is, upright.
struct ImageSize {
  int width = 0, height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Decodes a JPEG, PNG, WebP, TIFF or BMP file held in memory into upright RGB. The content decides
// the format, not the name.
//
// - Orientations 1 to 8 are applied (EXIF in JPEG, PNG and WebP, TIFF's own tag).
// - Grey and palette images become RGB. 16-bit samples are scaled: round(v * 255 / 65535).
// - Alpha (channel or tRNS) is blended onto white: round((c * a + 255 * (255 - a)) / 255), which is
// what
//   Pillow's alpha_composite gives over an opaque white image.
// - CMYK and YCCK JPEGs are taken as inverted (Adobe's convention; files without Adobe's marker
// follow it too):
//   round(c * k / 255) of the stored bytes.
// - Colour profiles and gamma chunks are not applied.
//
// Throws, with `name` in the message:
//   kCorruptFile         empty, truncated, failed checksum, damaged image data (never a
//   half-decoded image) kUnsupportedFormat   none of these formats, or a kind of one that is not
//   read (12-bit, lossless, arithmetic
//                        or DNL JPEG; more pixels than max_pixels)
Image DecodeImage(std::span<const std::byte> bytes, std::string_view name,
                  const DecodeOptions& options = {});

// Checks what can be checked without decoding, at the speed of memory: for PNG every chunk up to
// IEND and its checksum, for JPEG every marker up to EOI; the size; the amount of data that an
// image of that size takes at least. It cannot see damage inside of a JPEG's compressed data that
// leaves its markers intact, nor a PNG whose compressed data were wrong when its checksums were
// made: DecodeImage does. Whatever DecodeImage accepts, this accepts. Throws as DecodeImage does.
ImageSize InspectImage(std::span<const std::byte> bytes, std::string_view name,
                       const DecodeOptions& options = {});

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_IMAGE_H_
