#include "output/png_reader.h"

#include <csetjmp>
#include <span>
#include <string>

#include "base/check.h"
#include "base/file_mapping.h"
#include "base/png_input.h"

namespace lingbot {
namespace {

constexpr png_uint_32 kLargestImageSide = 1 << 15;

class PngReader : public PngInput {
 public:
  explicit PngReader(std::span<const std::byte> bytes) : PngInput(bytes) {}

  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  bool Is(int color_type, int bits) const {
    return png_get_color_type(png_, info_) == color_type && png_get_bit_depth(png_, info_) == bits;
  }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, kLargestImageSide, kLargestImageSide);
    png_read_info(png_, info_);
    return true;
  }

  // `rows` points at height() rows.
  bool ReadAll(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    if (png_get_bit_depth(png_, info_) == 16) png_set_swap(png_);  // files are big-endian
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }
};

struct Kind {
  int color_type;
  int bits;
  size_t samples;  // of a pixel
  const char* name;
};

template <typename T>
PngImage<T> Read(const std::filesystem::path& path, const Kind& kind, int height, int width) {
  const FileMapping mapping(path);
  const std::string file = path.string();
  Check(mapping.bytes().size() >= 8 &&
            png_sig_cmp(reinterpret_cast<png_const_bytep>(mapping.bytes().data()), 0, 8) == 0,
        ErrorCode::kUnsupportedFormat, "{} is no PNG file", file);
  PngReader reader(mapping.bytes());
  Check(reader.valid(), ErrorCode::kOutOfMemory, "{}: no memory for a PNG decoder", file);
  Check(reader.ReadHeader(), ErrorCode::kCorruptFile, "{}: damaged PNG: {}", file,
        reader.problem());
  Check(reader.Is(kind.color_type, kind.bits), ErrorCode::kUnsupportedFormat, "{} is no {} image",
        file, kind.name);
  PngImage<T> image;
  image.width = reader.width();
  image.height = reader.height();
  Check(height == 0 || (image.height == height && image.width == width), ErrorCode::kShapeMismatch,
        "{} has {}x{} pixels instead of {}x{}", file, image.width, image.height, width, height);
  const size_t stride = kind.samples * static_cast<size_t>(image.width);
  image.values.resize(stride * static_cast<size_t>(image.height));
  std::vector<png_bytep> rows;
  for (int y = 0; y < image.height; ++y) {
    rows.push_back(reinterpret_cast<png_bytep>(&image.values[static_cast<size_t>(y) * stride]));
  }
  Check(reader.ReadAll(rows.data()), ErrorCode::kCorruptFile, "{}: damaged PNG: {}", file,
        reader.problem());
  return image;
}

}  // namespace

PngImage<uint16_t> ReadPng16(const std::filesystem::path& path, int height, int width) {
  return Read<uint16_t>(path, {PNG_COLOR_TYPE_GRAY, 16, 1, "16-bit grey"}, height, width);
}

PngImage<uint8_t> ReadPngRgb(const std::filesystem::path& path, int height, int width) {
  return Read<uint8_t>(path, {PNG_COLOR_TYPE_RGB, 8, 3, "8-bit RGB"}, height, width);
}

}  // namespace lingbot
