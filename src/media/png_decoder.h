#ifndef LINGBOT_MEDIA_PNG_DECODER_H_
#define LINGBOT_MEDIA_PNG_DECODER_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "media/image.h"

namespace lingbot {

// Decodes a PNG file whose structure and checksums have been verified into image->rgb; width and
// height of the image are given and must be the header's. Errors as for DecodeImage.
void DecodePng(std::span<const std::byte> bytes, std::string_view name, Image* image);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_PNG_DECODER_H_
