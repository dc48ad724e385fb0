#include "media/bmp_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "media/blend.h"
#include "media/bytes.h"

namespace lingbot {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12, kInfoHeader = 40;
constexpr uint32_t kPlain = 0, kMasks = 3, kMasksAndAlpha = 6;

// Headers, checked.
struct Bmp {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0;
  size_t pixels = 0;                // offset of the rows
  size_t stride = 0;                // bytes of a row, a multiple of 4
  std::array<uint32_t, 4> masks{};  // red, green, blue, alpha
  std::vector<uint8_t> palette;     // RGB
};

[[noreturn]] void FailDamaged(std::string_view name, std::string_view what) {
  Fail(ErrorCode::kCorruptFile, "{}: damaged BMP: {}; copy or export the file again", name, what);
}

// A mask is a run of ones; none is fine for alpha only.
void CheckMask(uint32_t mask, std::string_view name) {
  const uint32_t run = mask == 0 ? 0 : mask >> std::countr_zero(mask);
  if ((run & (run + 1)) != 0) FailDamaged(name, "a colour mask with gaps");
}

void ReadMasks(Bytes bytes, uint32_t header, uint32_t compression, std::string_view name,
               Bmp* bmp) {
  if (compression == kPlain) {
    bmp->masks = bmp->bits == 16 ? std::array<uint32_t, 4>{0x7C00, 0x03E0, 0x001F, 0}
                                 : std::array<uint32_t, 4>{0xFF0000, 0xFF00, 0xFF, 0};
    return;
  }
  const int count = header >= 56 || compression == kMasksAndAlpha ? 4 : 3;
  constexpr size_t kOffset = kFileHeader + kInfoHeader;
  if (bytes.size() < kOffset + 4 * static_cast<size_t>(count)) {
    FailTruncated(name, bytes.size(), "within its header");
  }
  for (int i = 0; i < count; ++i) {
    bmp->masks[i] = LittleEndian(bytes, kOffset + 4 * i, 4);
    CheckMask(bmp->masks[i], name);
  }
}

void ReadPalette(Bytes bytes, uint32_t header, uint32_t colours, std::string_view name, Bmp* bmp) {
  const size_t entry = header == kCoreHeader ? 3 : 4;
  const size_t most = size_t{1} << bmp->bits;
  const size_t count = colours == 0 ? most : std::min<size_t>(colours, most);
  const size_t offset = kFileHeader + header;
  if (bytes.size() < offset || (bytes.size() - offset) / entry < count) {
    FailTruncated(name, bytes.size(), "within its palette");
  }
  bmp->palette.assign(3 * most, 0);  // indices without a colour are black
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      bmp->palette[3 * i + c] = std::to_integer<uint8_t>(bytes[offset + entry * i + 2 - c]);
    }
  }
}

void ReadSize(Bytes bytes, uint32_t header, std::string_view name, const DecodeOptions& options,
              Bmp* bmp) {
  if (header == kCoreHeader) {
    bmp->width = LittleEndian(bytes, 18, 2);
    bmp->height = LittleEndian(bytes, 20, 2);
    bmp->bits = LittleEndian(bytes, 24, 2);
  } else {
    bmp->width = static_cast<int32_t>(LittleEndian(bytes, 18, 4));
    bmp->height = static_cast<int32_t>(LittleEndian(bytes, 22, 4));
    bmp->bits = LittleEndian(bytes, 28, 2);
  }
  bmp->top_down = bmp->height < 0;
  if (bmp->top_down) bmp->height = -bmp->height;
  CheckImageSize(bmp->width, bmp->height, name, options);
}

Bmp ReadHeaders(Bytes bytes, std::string_view name, const DecodeOptions& options) {
  if (bytes.size() < kFileHeader + 4) FailTruncated(name, bytes.size(), "within its header");
  const uint32_t header = LittleEndian(bytes, kFileHeader, 4);
  if (header != kCoreHeader && (header < kInfoHeader || header > 1000)) {
    FailDamaged(name, fmt::format("a header of {} bytes", header));
  }
  if (bytes.size() < kFileHeader + header) FailTruncated(name, bytes.size(), "within its header");
  Bmp bmp;
  ReadSize(bytes, header, name, options, &bmp);
  const bool core = header == kCoreHeader;
  const uint32_t compression = core ? kPlain : LittleEndian(bytes, 30, 4);
  const bool masks = (compression == kMasks || compression == kMasksAndAlpha) &&
                     (bmp.bits == 16 || bmp.bits == 32);
  const bool known = bmp.bits == 1 || bmp.bits == 4 || bmp.bits == 8 || bmp.bits == 16 ||
                     bmp.bits == 24 || bmp.bits == 32;
  Check(known && (compression == kPlain || masks), ErrorCode::kUnsupportedFormat,
        "{}: a BMP of {} bits with compression {} is not read; export it as a PNG", name, bmp.bits,
        compression);
  if (bmp.bits <= 8) {
    ReadPalette(bytes, header, core ? 0 : LittleEndian(bytes, 46, 4), name, &bmp);
  } else if (bmp.bits != 24) {
    ReadMasks(bytes, header, compression, name, &bmp);
  }
  bmp.pixels = LittleEndian(bytes, 10, 4);
  bmp.stride = (static_cast<size_t>(bmp.width) * bmp.bits + 31) / 32 * 4;
  if (bmp.pixels < kFileHeader + header) FailDamaged(name, "image data inside of the header");
  if (bmp.pixels > bytes.size() ||
      (bytes.size() - bmp.pixels) / bmp.stride < static_cast<size_t>(bmp.height)) {
    FailTruncated(name, bytes.size(), "before its last row");
  }
  return bmp;
}

// A sample of a masked pixel, scaled to 8 bits.
uint8_t Sample(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift;
  return static_cast<uint8_t>((((pixel & mask) >> shift) * uint64_t{255} + most / 2) / most);
}

void PaletteRow(const Bmp& bmp, Bytes row, uint8_t* rgb) {
  const uint32_t mask = (1u << bmp.bits) - 1;
  for (int64_t x = 0; x < bmp.width; ++x, rgb += 3) {
    const size_t bit = static_cast<size_t>(x) * bmp.bits;
    const uint32_t byte = std::to_integer<uint32_t>(row[bit / 8]);
    const uint32_t index = byte >> (8 - bmp.bits - bit % 8) & mask;
    std::copy_n(&bmp.palette[3 * index], 3, rgb);
  }
}

void MaskedRow(const Bmp& bmp, Bytes row, uint8_t* rgb) {
  const int size = static_cast<int>(bmp.bits / 8);
  for (int64_t x = 0; x < bmp.width; ++x, rgb += 3) {
    const uint32_t pixel = LittleEndian(row, static_cast<size_t>(x * size), size);
    const std::array<uint8_t, 4> rgba = {
        Sample(pixel, bmp.masks[0]), Sample(pixel, bmp.masks[1]), Sample(pixel, bmp.masks[2]),
        bmp.masks[3] == 0 ? uint8_t{255} : Sample(pixel, bmp.masks[3])};
    BlendOntoWhite(rgba.data(), 1, rgb);
  }
}

void PlainRow(const Bmp& bmp, Bytes row, uint8_t* rgb) {
  for (int64_t i = 0; i < 3 * bmp.width; i += 3) {
    for (int64_t c = 0; c < 3; ++c) {
      rgb[i + c] = std::to_integer<uint8_t>(row[static_cast<size_t>(i + 2 - c)]);
    }
  }
}

}  // namespace

ImageStructure ReadBmpStructure(Bytes bytes, std::string_view name, const DecodeOptions& options) {
  const Bmp bmp = ReadHeaders(bytes, name, options);
  ImageStructure image;
  image.format = ImageFormat::kBmp;
  image.stored_width = static_cast<int>(bmp.width);
  image.stored_height = static_cast<int>(bmp.height);
  return image;
}

void DecodeBmp(Bytes bytes, std::string_view name, Image* image) {
  DecodeOptions checked;
  checked.max_pixels = int64_t{image->width} * image->height;
  const Bmp bmp = ReadHeaders(bytes, name, checked);
  const size_t row_bytes = 3 * static_cast<size_t>(bmp.width);
  image->rgb.resize(row_bytes * static_cast<size_t>(bmp.height));
  for (int64_t y = 0; y < bmp.height; ++y) {
    const auto stored = static_cast<size_t>(bmp.top_down ? y : bmp.height - 1 - y);
    const Bytes row = bytes.subspan(bmp.pixels + bmp.stride * stored, bmp.stride);
    uint8_t* rgb = image->rgb.data() + row_bytes * static_cast<size_t>(y);
    if (bmp.bits <= 8) {
      PaletteRow(bmp, row, rgb);
    } else if (bmp.bits == 24) {
      PlainRow(bmp, row, rgb);
    } else {
      MaskedRow(bmp, row, rgb);
    }
  }
}

}  // namespace lingbot
