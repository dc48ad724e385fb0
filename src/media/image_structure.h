#ifndef LINGBOT_MEDIA_IMAGE_STRUCTURE_H_
#define LINGBOT_MEDIA_IMAGE_STRUCTURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "media/image.h"
#include "media/orientation.h"

namespace lingbot {

enum class ImageFormat { kJpeg, kPng, kWebp, kTiff, kBmp };

// What the walk over an image file's markers or chunks found.
struct ImageStructure {
  ImageFormat format = ImageFormat::kJpeg;
  int stored_width = 0, stored_height = 0;  // before the orientation is applied
  Orientation orientation = Orientation::kUpright;
};

// Refuses sizes that are impossible or have more than the pixels allowed.
void CheckImageSize(int64_t width, int64_t height, std::string_view name,
                    const DecodeOptions& options);

// `what` says where the file ends: "before its last row".
[[noreturn]] void FailTruncated(std::string_view name, size_t size, std::string_view what);

// Whether a file that begins like this is an image that can be read, or the stump of one. `head`:
// its first bytes, not empty.
bool IsImage(std::span<const std::byte> head);

// What a file that begins like this is, if it is known to be no image and no video that can be
// read ("a GIF image", "text"); else "". `head`: up to its first 512 bytes.
std::string GuessOtherContent(std::span<const std::byte> head);

// Walks the whole file; errors as for InspectImage.
ImageStructure ReadStructure(std::span<const std::byte> bytes, std::string_view name,
                             const DecodeOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_IMAGE_STRUCTURE_H_
