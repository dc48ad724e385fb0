#ifndef LINGBOT_MEDIA_TIFF_DECODER_H_
#define LINGBOT_MEDIA_TIFF_DECODER_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "media/image.h"
#include "media/image_structure.h"

namespace lingbot {

// Reads the first directory of a TIFF file and checks that its strips or tiles lie inside of the
// file; errors as for InspectImage.
ImageStructure ReadTiffStructure(std::span<const std::byte> bytes, std::string_view name,
                                 const DecodeOptions& options);

// Decodes the first picture of a TIFF file whose structure has been read into image->rgb; width
// and height of the image are given. 16-bit samples may come out one level lower than rounding
// would have them.
void DecodeTiff(std::span<const std::byte> bytes, std::string_view name, Image* image);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_TIFF_DECODER_H_
