#ifndef LINGBOT_MEDIA_WEBP_DECODER_H_
#define LINGBOT_MEDIA_WEBP_DECODER_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "media/image.h"
#include "media/image_structure.h"

namespace lingbot {

// Walks the chunks of a WebP file; errors as for InspectImage. Animations are refused.
ImageStructure ReadWebpStructure(std::span<const std::byte> bytes, std::string_view name,
                                 const DecodeOptions& options);

// Decodes a WebP file whose structure has been read into image->rgb; width and height of the image
// are given. Errors as for DecodeImage.
void DecodeWebp(std::span<const std::byte> bytes, std::string_view name, Image* image);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_WEBP_DECODER_H_
