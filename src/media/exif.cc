#include "media/exif.h"

#include <libexif/exif-data.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace lingbot {
namespace {

struct Unref {
  void operator()(ExifData* data) const { exif_data_unref(data); }
};

// The first directory comes early; a longer block only holds thumbnails and maker notes. Also the
// most that the JPEG segment of an EXIF block can carry.
constexpr size_t kMaxBlock = 65533;

}  // namespace

Orientation ExifOrientation(std::span<const std::byte> tiff) {
  static constexpr std::array<unsigned char, 6> kHeader = {'E', 'x', 'i', 'f', 0, 0};
  std::vector<unsigned char> block(kHeader.begin(), kHeader.end());
  const auto* data = reinterpret_cast<const unsigned char*>(tiff.data());
  block.insert(block.end(), data, data + std::min(tiff.size(), kMaxBlock - kHeader.size()));
  const std::unique_ptr<ExifData, Unref> exif(exif_data_new());
  if (exif == nullptr) return Orientation::kUpright;
  // Otherwise libexif adds and rewrites tags to make the block conform.
  exif_data_unset_option(exif.get(), EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  exif_data_load_data(exif.get(), block.data(), static_cast<unsigned>(block.size()));
  const ExifEntry* entry = exif_content_get_entry(exif->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->data == nullptr) return Orientation::kUpright;
  const ExifByteOrder order = exif_data_get_byte_order(exif.get());
  uint32_t value = 0;
  if (entry->format == EXIF_FORMAT_SHORT && entry->size >= 2) {
    value = exif_get_short(entry->data, order);
  } else if (entry->format == EXIF_FORMAT_LONG && entry->size >= 4) {
    value = exif_get_long(entry->data, order);
  }
  return value >= 1 && value <= 8 ? static_cast<Orientation>(value) : Orientation::kUpright;
}

}  // namespace lingbot
