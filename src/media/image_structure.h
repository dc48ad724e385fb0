#ifndef LINGBOT_MEDIA_IMAGE_STRUCTURE_H_
#define LINGBOT_MEDIA_IMAGE_STRUCTURE_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "media/image.h"
#include "media/orientation.h"

namespace lingbot {

enum class ImageFormat { kJpeg, kPng };

// What the walk over an image file's markers or chunks found.
struct ImageStructure {
  ImageFormat format = ImageFormat::kJpeg;
  int stored_width = 0, stored_height = 0;  // before the orientation is applied
  Orientation orientation = Orientation::kUpright;
};

// Walks the whole file; errors as for InspectImage.
ImageStructure ReadStructure(std::span<const std::byte> bytes, std::string_view name,
                             const DecodeOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_IMAGE_STRUCTURE_H_
