#include "media/test_images.h"

#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>

#include "base/check.h"

namespace lingbot::testing_images {
namespace {

void Append(FileBytes* file, const void* data, size_t count) {
  const auto* bytes = static_cast<const std::byte*>(data);
  file->insert(file->end(), bytes, bytes + count);
}

void OnPngWrite(png_structp png, png_bytep data, size_t count) {
  Append(static_cast<FileBytes*>(png_get_io_ptr(png)), data, count);
}

void SetPngExtras(png_structp png, png_infop info, const PngSpec& spec) {
  if (!spec.palette.empty()) {
    std::vector<png_color> colours;
    for (size_t i = 0; i < spec.palette.size(); i += 3) {
      colours.push_back({spec.palette[i], spec.palette[i + 1], spec.palette[i + 2]});
    }
    png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  }
  if (!spec.transparent.empty()) {
    png_set_tRNS(png, info, spec.transparent.data(), static_cast<int>(spec.transparent.size()),
                 nullptr);
  }
  if (!spec.key.empty()) {
    png_color_16 key{};
    key.gray = key.red = spec.key[0];
    if (spec.key.size() == 3) {
      key.green = spec.key[1];
      key.blue = spec.key[2];
    }
    png_set_tRNS(png, info, nullptr, 0, &key);
  }
  if (!spec.exif.empty()) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(spec.exif.size()),
                   const_cast<png_bytep>(spec.exif.data()));
  }
}

int Components(JpegKind kind) {
  if (kind == JpegKind::kGrey) return 1;
  return kind == JpegKind::kCmyk || kind == JpegKind::kYcck ? 4 : 3;
}

void SetJpegColours(jpeg_compress_struct* info, const JpegSpec& spec) {
  info->input_components = Components(spec.kind);
  info->in_color_space = info->input_components == 1   ? JCS_GRAYSCALE
                         : info->input_components == 3 ? JCS_RGB
                                                       : JCS_CMYK;
  jpeg_set_defaults(info);
  if (spec.kind == JpegKind::kCmyk) jpeg_set_colorspace(info, JCS_CMYK);
  if (spec.kind == JpegKind::kYcck) jpeg_set_colorspace(info, JCS_YCCK);
  if (spec.kind == JpegKind::kRgb) jpeg_set_colorspace(info, JCS_RGB);
  if (spec.kind == JpegKind::kCmyk) info->write_Adobe_marker = spec.adobe_marker;
  if (spec.kind == JpegKind::kYcc444) {
    info->comp_info[0].h_samp_factor = info->comp_info[0].v_samp_factor = 1;
  }
}

void Put(std::vector<uint8_t>* block, uint32_t value, int count, bool big_endian) {
  for (int i = 0; i < count; ++i) {
    block->push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? count - 1 - i : i)));
  }
}

}  // namespace

FileBytes MakePng(const PngSpec& spec) {
  FileBytes file;
  // libpng's own error handler, which nothing here jumps out of, ends the program.
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, OnPngWrite, nullptr);
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
  png_set_check_for_invalid_index(png, 0);
  png_set_IHDR(png, info, spec.width, spec.height, spec.bit_depth, spec.colour_type,
               spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  SetPngExtras(png, info, spec);
  png_write_info(png, info);
  const size_t stride = png_get_rowbytes(png, info);
  Check(spec.samples.size() == stride * spec.height, ErrorCode::kInternal,
        "{} bytes of samples for {} rows of {}", spec.samples.size(), spec.height, stride);
  std::vector<png_bytep> rows(spec.height);
  for (int y = 0; y < spec.height; ++y) {
    rows[y] = const_cast<png_bytep>(spec.samples.data() + stride * y);
  }
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

FileBytes MakeRgbPng(int width, int height, const std::vector<uint8_t>& rgb) {
  PngSpec spec;
  spec.width = width;
  spec.height = height;
  spec.samples = rgb;
  return MakePng(spec);
}

FileBytes MakeJpeg(const JpegSpec& spec) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // its error handler ends the program
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = spec.width;
  info.image_height = spec.height;
  SetJpegColours(&info, spec);
  jpeg_set_quality(&info, spec.quality, TRUE);
  info.restart_interval = spec.restart_interval;
  if (spec.progressive) jpeg_simple_progression(&info);
  std::vector<jpeg_scan_info> scans;
  for (int c = 0; spec.separate_scans && c < info.num_components; ++c) {
    scans.push_back({1, {c, 0, 0, 0}, 0, 63, 0, 0});
  }
  if (!scans.empty()) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  if (!spec.exif.empty()) {
    std::vector<uint8_t> block = {'E', 'x', 'i', 'f', 0, 0};
    block.insert(block.end(), spec.exif.begin(), spec.exif.end());
    jpeg_write_marker(&info, JPEG_APP0 + 1, block.data(), static_cast<unsigned>(block.size()));
  }
  const size_t stride = static_cast<size_t>(spec.width) * Components(spec.kind);
  Check(spec.samples.size() == stride * spec.height, ErrorCode::kInternal,
        "{} bytes of samples for {} rows of {}", spec.samples.size(), spec.height, stride);
  for (int y = 0; y < spec.height; ++y) {
    auto* row = const_cast<JSAMPROW>(spec.samples.data() + stride * y);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  FileBytes file;
  Append(&file, memory, size);
  std::free(memory);
  return file;
}

std::vector<uint8_t> MakeExif(int orientation, bool big_endian, bool wide) {
  std::vector<uint8_t> block(2, big_endian ? 'M' : 'I');
  Put(&block, 42, 2, big_endian);
  Put(&block, 8, 4, big_endian);             // offset of the directory
  Put(&block, 1, 2, big_endian);             // entries
  Put(&block, 0x0112, 2, big_endian);        // orientation
  Put(&block, wide ? 4 : 3, 2, big_endian);  // long or short
  Put(&block, 1, 4, big_endian);
  Put(&block, orientation, wide ? 4 : 2, big_endian);
  if (!wide) Put(&block, 0, 2, big_endian);
  Put(&block, 0, 4, big_endian);  // no further directory
  return block;
}

std::vector<uint8_t> MakeScene(int width, int height) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      rgb.push_back(static_cast<uint8_t>(20 + 200 * x / width));
      rgb.push_back(static_cast<uint8_t>(30 + 150 * y / height));
      rgb.push_back(static_cast<uint8_t>(60 + 90 * x / width * y / height));
    }
  }
  return rgb;
}

void RepairChecksums(FileBytes* png) {
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>((*png)[at + i]);
    return value;
  };
  for (size_t at = 8; at + 12 <= png->size();) {
    const size_t length = number(at);
    if (length > png->size() - at - 12) return;
    const auto* type = reinterpret_cast<const Bytef*>(png->data() + at + 4);
    const auto crc = static_cast<uint32_t>(crc32_z(crc32(0, nullptr, 0), type, length + 4));
    for (size_t i = 0; i < 4; ++i) {
      (*png)[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    }
    at += 12 + length;
  }
}

Thrown Catch(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace lingbot::testing_images
