#include "media/tiff_decoder.h"

#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "media/blend.h"

namespace lingbot {
namespace {

using Bytes = std::span<const std::byte>;

// The first message of the library on this thread; it has one handler for the whole process.
thread_local std::array<char, 160> first_message{};

void Keep(const char*, const char* format, va_list arguments) {
  if (first_message[0] != 0) return;
  std::vsnprintf(first_message.data(), first_message.size(), format, arguments);
  std::replace_if(
      first_message.begin(), first_message.end(), [](char c) { return c > 0 && c < 32; }, '?');
}

// The file in memory, as the library's read-only file.
struct Source {
  Bytes bytes;
  uint64_t position = 0;

  static Source* Of(thandle_t handle) { return static_cast<Source*>(handle); }

  static tmsize_t Read(thandle_t handle, void* target, tmsize_t size) {
    Source* source = Of(handle);
    if (size <= 0 || source->position >= source->bytes.size()) return 0;
    const auto count = std::min<uint64_t>(size, source->bytes.size() - source->position);
    std::memcpy(target, source->bytes.data() + source->position, count);
    source->position += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t Write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t Seek(thandle_t handle, toff_t offset, int whence) {
    Source* source = Of(handle);
    if (whence == SEEK_CUR) offset += source->position;
    if (whence == SEEK_END) offset += source->bytes.size();
    return source->position = offset;
  }
  static int Close(thandle_t) { return 0; }
  static toff_t Size(thandle_t handle) { return Of(handle)->bytes.size(); }
};

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Tiff = std::unique_ptr<TIFF, CloseTiff>;

Tiff Open(Source* source, std::string_view name) {
  static std::once_flag once;
  std::call_once(once, [] {
    TIFFSetErrorHandler(Keep);
    TIFFSetWarningHandler(nullptr);
  });
  first_message[0] = 0;
  // m: not by mapping, which the callbacks lack.
  Tiff tiff(TIFFClientOpen("image", "rm", source, Source::Read, Source::Write, Source::Seek,
                           Source::Close, Source::Size, nullptr, nullptr));
  Check(tiff != nullptr, ErrorCode::kCorruptFile,
        "{}: damaged TIFF: {}; copy or export the file again", name, first_message.data());
  return tiff;
}

// Strips or tiles that end behind the file belong to a truncated one.
void CheckData(TIFF* tiff, Bytes bytes, std::string_view name) {
  const bool tiled = TIFFIsTiled(tiff) != 0;
  const uint32_t count = tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = TIFFGetStrileOffset(tiff, i);
    const uint64_t length = TIFFGetStrileByteCount(tiff, i);
    if (offset > bytes.size() || length > bytes.size() - offset) {
      FailTruncated(name, bytes.size(), "before the end of its image data");
    }
    Check(offset > 0 && length > 0, ErrorCode::kCorruptFile,
          "{}: damaged TIFF: part {} of its image data is missing; copy or export the file again",
          name, i);
  }
}

// What one strip or tile comes to, which is taken at once.
void CheckPartSize(TIFF* tiff, const ImageStructure& image, std::string_view name) {
  const uint64_t part = TIFFIsTiled(tiff) != 0 ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
  const uint64_t most = (uint64_t{64} << 20) + uint64_t{16} *
                                                   static_cast<uint64_t>(image.stored_width) *
                                                   static_cast<uint64_t>(image.stored_height);
  Check(part > 0 && part <= most, ErrorCode::kCorruptFile,
        "{}: damaged TIFF: a part of its image data of {} bytes for {}x{} pixels", name, part,
        image.stored_width, image.stored_height);
}

}  // namespace

ImageStructure ReadTiffStructure(Bytes bytes, std::string_view name, const DecodeOptions& options) {
  Source source{bytes};
  const Tiff tiff = Open(&source, name);
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  CheckImageSize(width, height, name, options);
  ImageStructure image;
  image.format = ImageFormat::kTiff;
  image.stored_width = static_cast<int>(width);
  image.stored_height = static_cast<int>(height);
  uint16_t orientation = ORIENTATION_TOPLEFT;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  if (orientation >= 1 && orientation <= 8) {
    image.orientation = static_cast<Orientation>(orientation);
  }
  CheckPartSize(tiff.get(), image, name);
  CheckData(tiff.get(), bytes, name);
  std::array<char, 1024> problem{};
  Check(TIFFRGBAImageOK(tiff.get(), problem.data()) != 0, ErrorCode::kUnsupportedFormat,
        "{}: a TIFF of a kind that is not read ({}); export it as a PNG", name, problem.data());
  return image;
}

void DecodeTiff(Bytes bytes, std::string_view name, Image* image) {
  Source source{bytes};
  const Tiff tiff = Open(&source, name);
  const size_t pixels = static_cast<size_t>(image->width) * static_cast<size_t>(image->height);
  std::vector<uint32_t> raster(pixels);
  TIFFRGBAImage reader;
  std::array<char, 1024> problem{};
  bool read = TIFFRGBAImageBegin(&reader, tiff.get(), /*stop=*/1, problem.data()) != 0;
  Check(read, ErrorCode::kUnsupportedFormat,
        "{}: a TIFF of a kind that is not read ({}); export it as a PNG", name, problem.data());
  // As stored: the library turns only half of the orientations.
  reader.orientation = reader.req_orientation = ORIENTATION_TOPLEFT;
  const bool has_alpha = reader.alpha != 0;
  read = TIFFRGBAImageGet(&reader, raster.data(), static_cast<uint32_t>(image->width),
                          static_cast<uint32_t>(image->height)) != 0;
  TIFFRGBAImageEnd(&reader);
  Check(read, ErrorCode::kCorruptFile, "{}: damaged TIFF: {}; copy or export the file again", name,
        first_message.data());
  image->rgb.resize(3 * pixels);
  for (size_t i = 0; i < pixels; ++i) {
    const uint32_t pixel = raster[i];
    // Alpha has been multiplied in; over white that leaves to add what it lets through.
    const uint32_t white = has_alpha ? 255 - TIFFGetA(pixel) : 0;
    const std::array<uint32_t, 3> rgb = {TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel)};
    for (size_t c = 0; c < 3; ++c) {
      image->rgb[3 * i + c] = static_cast<uint8_t>(std::min<uint32_t>(rgb[c] + white, 255));
    }
  }
}

}  // namespace lingbot
