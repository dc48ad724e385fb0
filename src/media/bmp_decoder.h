#ifndef LINGBOT_MEDIA_BMP_DECODER_H_
#define LINGBOT_MEDIA_BMP_DECODER_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "media/image.h"
#include "media/image_structure.h"

namespace lingbot {

// Checks the headers of a BMP file and that its rows are there; errors as for InspectImage. Read
// are palettes of 1, 4 and 8 bits, 16 and 32 bits with or without masks, and 24 bits.
ImageStructure ReadBmpStructure(std::span<const std::byte> bytes, std::string_view name,
                                const DecodeOptions& options);

// Decodes a BMP file whose structure has been read into image->rgb; width and height of the image
// are given. Alpha counts where the file names a mask for it.
void DecodeBmp(std::span<const std::byte> bytes, std::string_view name, Image* image);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_BMP_DECODER_H_
