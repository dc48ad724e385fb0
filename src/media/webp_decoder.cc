#include "media/webp_decoder.h"

#include <webp/decode.h>

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "media/blend.h"
#include "media/bytes.h"
#include "media/exif.h"

namespace lingbot {
namespace {

using Bytes = std::span<const std::byte>;

const uint8_t* Data(Bytes bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

}  // namespace

ImageStructure ReadWebpStructure(Bytes bytes, std::string_view name, const DecodeOptions& options) {
  constexpr size_t kHeader = 12;
  const size_t end = size_t{8} + LittleEndian(bytes, 4, 4);
  if (bytes.size() < end || end < kHeader)
    FailTruncated(name, bytes.size(), "before its last chunk");
  ImageStructure image;
  image.format = ImageFormat::kWebp;
  bool pixels = false;
  size_t offset = kHeader;
  while (offset + 8 <= end) {
    const size_t length = LittleEndian(bytes, offset + 4, 4);
    if (length > end - offset - 8) FailTruncated(name, bytes.size(), "in the middle of a chunk");
    const Bytes type = bytes.subspan(offset, 4);
    Bytes data = bytes.subspan(offset + 8, length);
    if (StartsWith(type, "VP8 ") || StartsWith(type, "VP8L")) pixels = true;
    if (StartsWith(type, "EXIF")) {
      // Some programs put the block as JPEG has it.
      if (StartsWith(data, std::string_view("Exif\0\0", 6))) data = data.subspan(6);
      image.orientation = ExifOrientation(data);
    }
    offset += 8 + length + length % 2;
  }
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(Data(bytes), bytes.size(), &features);
  Check(status == VP8_STATUS_OK, ErrorCode::kCorruptFile,
        "{}: damaged, its WebP header cannot be read; copy or export the file again", name);
  Check(features.has_animation == 0, ErrorCode::kUnsupportedFormat,
        "{}: an animated WebP is not read; export its frames as images or as a video", name);
  Check(pixels, ErrorCode::kCorruptFile, "{}: damaged, a WebP without image data", name);
  CheckImageSize(features.width, features.height, name, options);
  image.stored_width = features.width;
  image.stored_height = features.height;
  return image;
}

void DecodeWebp(Bytes bytes, std::string_view name, Image* image) {
  WebPBitstreamFeatures features;
  bool decoded = WebPGetFeatures(Data(bytes), bytes.size(), &features) == VP8_STATUS_OK &&
                 features.width == image->width && features.height == image->height;
  const size_t pixels = static_cast<size_t>(image->width) * static_cast<size_t>(image->height);
  image->rgb.resize(3 * pixels);
  if (decoded && features.has_alpha != 0) {
    std::vector<uint8_t> rgba(4 * pixels);
    decoded = WebPDecodeRGBAInto(Data(bytes), bytes.size(), rgba.data(), rgba.size(),
                                 4 * image->width) != nullptr;
    if (decoded) BlendOntoWhite(rgba.data(), pixels, image->rgb.data());
  } else if (decoded) {
    decoded = WebPDecodeRGBInto(Data(bytes), bytes.size(), image->rgb.data(), image->rgb.size(),
                                3 * image->width) != nullptr;
  }
  Check(decoded, ErrorCode::kCorruptFile,
        "{}: damaged WebP image data; copy or export the file again", name);
}

}  // namespace lingbot
