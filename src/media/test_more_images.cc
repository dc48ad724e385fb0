#include "media/test_more_images.h"

#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lingbot::testing_images {
namespace {

void Put(FileBytes* file, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    file->push_back(i < 8 ? static_cast<std::byte>(value >> (8 * i)) : std::byte{0});
  }
}

void PutText(FileBytes* file, std::string_view text) {
  for (const char c : text) file->push_back(static_cast<std::byte>(c));
}

void PutChunk(FileBytes* file, std::string_view type, const uint8_t* data, size_t count) {
  PutText(file, type);
  Put(file, count, 4);
  for (size_t i = 0; i < count; ++i) file->push_back(static_cast<std::byte>(data[i]));
  if (count % 2 != 0) Put(file, 0, 1);
}

}  // namespace

FileBytes MakeWebp(const WebpSpec& spec) {
  uint8_t* encoded = nullptr;
  const int stride = spec.channels * spec.width;
  const uint8_t* samples = spec.samples.data();
  size_t size = 0;
  if (spec.channels == 4) {
    size = WebPEncodeLosslessRGBA(samples, spec.width, spec.height, stride, &encoded);
  } else if (spec.lossy) {
    size = WebPEncodeRGB(samples, spec.width, spec.height, stride, 95, &encoded);
  } else {
    size = WebPEncodeLosslessRGB(samples, spec.width, spec.height, stride, &encoded);
  }
  if (size == 0) throw std::runtime_error("WebP encoder");
  FileBytes plain(size);
  std::memcpy(plain.data(), encoded, size);
  WebPFree(encoded);
  if (spec.exif.empty() && !spec.animated) return plain;
  // The extended layout: a header chunk, the picture's chunk as it is, the EXIF block.
  FileBytes file;
  PutText(&file, "RIFF____WEBP");
  const uint8_t flags = static_cast<uint8_t>((spec.exif.empty() ? 0 : 8) | (spec.animated ? 2 : 0));
  const int w = spec.width - 1, h = spec.height - 1;
  const uint8_t header[10] = {flags,
                              0,
                              0,
                              0,
                              static_cast<uint8_t>(w),
                              static_cast<uint8_t>(w >> 8),
                              0,
                              static_cast<uint8_t>(h),
                              static_cast<uint8_t>(h >> 8),
                              0};
  PutChunk(&file, "VP8X", header, sizeof(header));
  file.insert(file.end(), plain.begin() + 12, plain.end());
  if (!spec.exif.empty()) PutChunk(&file, "EXIF", spec.exif.data(), spec.exif.size());
  for (int i = 0; i < 4; ++i) file[4 + i] = static_cast<std::byte>((file.size() - 8) >> (8 * i));
  return file;
}

void WriteTiff(const std::filesystem::path& path, const TiffSpec& spec) {
  const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(TIFFOpen(path.c_str(), spec.big ? "w8" : "w"),
                                                    TIFFClose);
  if (tiff == nullptr) throw std::runtime_error("cannot write " + path.string());
  TIFF* file = tiff.get();
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, spec.width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, spec.height);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, spec.bits);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, spec.channels);
  TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, spec.sample_format);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, spec.photometric);
  TIFFSetField(file, TIFFTAG_ORIENTATION, spec.orientation);
  TIFFSetField(file, TIFFTAG_COMPRESSION, spec.compression);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  if (spec.photometric == PHOTOMETRIC_RGB && spec.channels == 4) {
    const uint16_t unassociated = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &unassociated);
  }
  if (!spec.palette.empty()) {
    TIFFSetField(file, TIFFTAG_COLORMAP, spec.palette.data(), spec.palette.data() + 256,
                 spec.palette.data() + 512);
  }
  std::vector<uint8_t> samples = spec.samples;
  const size_t row = (static_cast<size_t>(spec.width) * spec.channels * spec.bits + 7) / 8;
  if (spec.tiled) {
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 16);
    const size_t pixel = static_cast<size_t>(spec.channels) * spec.bits / 8;
    for (int top = 0; top < spec.height; top += 16) {
      for (int left = 0; left < spec.width; left += 16) {
        std::vector<uint8_t> tile(256 * pixel);
        for (int y = 0; y < std::min(16, spec.height - top); ++y) {
          const auto count = static_cast<size_t>(std::min(16, spec.width - left)) * pixel;
          std::copy_n(&samples[(top + y) * row + left * pixel], count, &tile[16 * y * pixel]);
        }
        TIFFWriteTile(file, tile.data(), left, top, 0, 0);
      }
    }
    return;
  }
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 8);
  for (int y = 0; y < spec.height; ++y) TIFFWriteScanline(file, &samples[y * row], y, 0);
}

FileBytes MakeBmp(const BmpSpec& spec) {
  constexpr uint32_t kHeaders = 14 + 40;
  const size_t row = (static_cast<size_t>(spec.width) * spec.bits + 7) / 8;
  const size_t stride = (row + 3) / 4 * 4;
  // A header of 56 bytes has the alpha mask in it.
  const uint32_t header = spec.masks.size() == 4 ? 56 : 40;
  const size_t tables = 4 * spec.masks.size() + spec.palette.size() / 3 * 4;
  FileBytes file;
  PutText(&file, "BM");
  Put(&file, kHeaders + tables + stride * spec.height, 4);
  Put(&file, 0, 4);
  Put(&file, kHeaders + tables, 4);
  Put(&file, header, 4);
  Put(&file, static_cast<uint32_t>(spec.width), 4);
  Put(&file, static_cast<uint32_t>(spec.top_down ? -spec.height : spec.height), 4);
  Put(&file, 1, 2);
  Put(&file, spec.bits, 2);
  Put(&file, spec.compression, 4);
  for (int i = 0; i < 3; ++i) Put(&file, 0, 4);
  Put(&file, spec.palette.size() / 3, 4);
  Put(&file, 0, 4);
  for (const uint32_t mask : spec.masks) Put(&file, mask, 4);
  for (size_t i = 0; i < spec.palette.size(); i += 3) {
    for (const size_t c : {2, 1, 0}) Put(&file, spec.palette[i + c], 1);
    Put(&file, 0, 1);
  }
  for (int y = 0; y < spec.height; ++y) {
    const int from = spec.top_down ? y : spec.height - 1 - y;
    for (size_t i = 0; i < row; ++i) Put(&file, spec.rows[from * row + i], 1);
    Put(&file, 0, static_cast<int>(stride - row));
  }
  return file;
}

}  // namespace lingbot::testing_images
