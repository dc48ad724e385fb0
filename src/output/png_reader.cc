#include "output/png_reader.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "base/check.h"
#include "base/file_mapping.h"

namespace lingbot {
namespace {

constexpr png_uint_32 kLargestImageSide = 1 << 15;

// libpng leaves a function that failed with longjmp, which skips destructors: what owns memory is
// a member here, and functions that call setjmp have trivial locals only.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool valid() const { return info_ != nullptr; }
  const char* problem() const { return problem_; }
  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  bool Is(int color_type, int bits) const {
    return png_get_color_type(png_, info_) == color_type && png_get_bit_depth(png_, info_) == bits;
  }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, OnRead);
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

 private:
  static PngReader* Self(void* pointer) { return static_cast<PngReader*>(pointer); }

  [[noreturn]] static void OnError(png_structp png, const char* message) {
    std::snprintf(Self(png_get_error_ptr(png))->problem_, sizeof(problem_), "%s", message);
    png_longjmp(png, 1);
  }

  static void OnWarning(png_structp, const char*) {}

  static void OnRead(png_structp png, png_bytep target, size_t count) {
    PngReader* self = Self(png_get_io_ptr(png));
    if (count > self->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(target, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::byte> rest_;
  char problem_[160] = "";
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
