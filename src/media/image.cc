#include "media/image.h"

#include <utility>

#include "media/image_structure.h"
#include "media/jpeg_decoder.h"
#include "media/orientation.h"
#include "media/png_decoder.h"

namespace lingbot {

Image DecodeImage(std::span<const std::byte> bytes, std::string_view name,
                  const DecodeOptions& options) {
  const ImageStructure structure = ReadStructure(bytes, name, options);
  Image image;
  image.name = name;
  image.width = structure.stored_width;
  image.height = structure.stored_height;
  if (structure.format == ImageFormat::kPng) {
    DecodePng(bytes, name, &image);
  } else {
    DecodeJpeg(bytes, name, &image);
  }
  ApplyOrientation(structure.orientation, &image);
  return image;
}

ImageSize InspectImage(std::span<const std::byte> bytes, std::string_view name,
                       const DecodeOptions& options) {
  const ImageStructure structure = ReadStructure(bytes, name, options);
  ImageSize size{structure.stored_width, structure.stored_height};
  if (SwapsSides(structure.orientation)) std::swap(size.width, size.height);
  return size;
}

}  // namespace lingbot
