#ifndef LINGBOT_MEDIA_EXIF_H_
#define LINGBOT_MEDIA_EXIF_H_

#include <cstddef>
#include <span>

#include "media/orientation.h"

namespace lingbot {

// The orientation that an EXIF block (a TIFF structure, from its byte-order mark on) asks for;
// kUpright if the block is damaged, has no such tag or one out of range.
Orientation ExifOrientation(std::span<const std::byte> tiff);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_EXIF_H_
