// DecodeImage must answer any bytes with an image or an Error, and InspectImage must accept what it
// accepts.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "lingbot/error.h"
#include "media/image.h"

namespace {

using lingbot::DecodeOptions;

// Changed bytes would nearly always stop at a PNG chunk's checksum: gives each chunk the right one.
void RepairChecksums(std::vector<uint8_t>* png) {
  for (size_t at = 8; at + 12 <= png->size();) {
    const uint8_t* p = png->data() + at;
    const size_t length = size_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3];
    if (length > png->size() - at - 12) return;
    const auto crc = static_cast<uint32_t>(crc32_z(0, p + 4, length + 4));
    for (size_t i = 0; i < 4; ++i)
      (*png)[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

void Decode(std::span<const std::byte> bytes) {
  DecodeOptions options;
  options.max_pixels = 1 << 20;
  lingbot::Image image;
  try {
    image = lingbot::DecodeImage(bytes, "fuzz", options);
  } catch (const lingbot::Error&) {
    return;
  }
  if (image.rgb.size() != size_t{3} * image.width * image.height) std::abort();
  const lingbot::ImageSize size = lingbot::InspectImage(bytes, "fuzz", options);
  if (size.width != image.width || size.height != image.height) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> input(data, data + size);
  Decode(std::as_bytes(std::span(input)));
  if (size > 8 && data[0] == 0x89) {
    RepairChecksums(&input);
    Decode(std::as_bytes(std::span(input)));
  }
  return 0;
}
