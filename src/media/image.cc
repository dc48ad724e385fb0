#include "media/image.h"

#include <utility>

#include "media/bmp_decoder.h"
#include "media/image_structure.h"
#include "media/jpeg_decoder.h"
#include "media/orientation.h"
#include "media/png_decoder.h"
#include "media/tiff_decoder.h"
#include "media/webp_decoder.h"

namespace lingbot {
namespace {

void DecodePixels(ImageFormat format, std::span<const std::byte> bytes, std::string_view name,
                  Image* image) {
  switch (format) {
    case ImageFormat::kJpeg:
      return DecodeJpeg(bytes, name, image);
    case ImageFormat::kPng:
      return DecodePng(bytes, name, image);
    case ImageFormat::kWebp:
      return DecodeWebp(bytes, name, image);
    case ImageFormat::kTiff:
      return DecodeTiff(bytes, name, image);
    case ImageFormat::kBmp:
      return DecodeBmp(bytes, name, image);
  }
}

}  // namespace

Image DecodeImage(std::span<const std::byte> bytes, std::string_view name,
                  const DecodeOptions& options) {
  const ImageStructure structure = ReadStructure(bytes, name, options);
  Image image;
  image.name = name;
  image.width = structure.stored_width;
  image.height = structure.stored_height;
  DecodePixels(structure.format, bytes, name, &image);
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
