#include <png.h>

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/file_mapping.h"
#include "evaluation/depth_map.h"

namespace lingbot {
namespace {

constexpr png_uint_32 kLargestSide = 1 << 15;

// libpng leaves a function that failed with longjmp, which skips destructors: what owns memory is
// a member here, and functions that call setjmp have trivial locals only.
class GreyPngReader {
 public:
  explicit GreyPngReader(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~GreyPngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  GreyPngReader(const GreyPngReader&) = delete;
  GreyPngReader& operator=(const GreyPngReader&) = delete;

  bool valid() const { return info_ != nullptr; }
  const char* problem() const { return problem_; }
  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  bool is_grey16() const {
    return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY &&
           png_get_bit_depth(png_, info_) == 16;
  }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, OnRead);
    png_set_user_limits(png_, kLargestSide, kLargestSide);
    png_read_info(png_, info_);
    return true;
  }

  // `rows` points at height() rows of width() values.
  bool ReadAll(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_swap(png_);  // files are big-endian
    png_read_image(png_, rows);
    return true;
  }

 private:
  static GreyPngReader* Self(void* pointer) { return static_cast<GreyPngReader*>(pointer); }

  [[noreturn]] static void OnError(png_structp png, const char* message) {
    std::snprintf(Self(png_get_error_ptr(png))->problem_, sizeof(problem_), "%s", message);
    png_longjmp(png, 1);
  }

  static void OnWarning(png_structp, const char*) {}

  static void OnRead(png_structp png, png_bytep target, size_t count) {
    GreyPngReader* self = Self(png_get_io_ptr(png));
    if (count > self->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(target, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::byte> rest_;
  char problem_[160] = "";
};

}  // namespace

DepthMap ReadDepthPng(const std::filesystem::path& path, double scale) {
  const FileMapping mapping(path);
  const std::string file = path.string();
  Check(mapping.bytes().size() >= 8 &&
            png_sig_cmp(reinterpret_cast<png_const_bytep>(mapping.bytes().data()), 0, 8) == 0,
        ErrorCode::kUnsupportedFormat, "{} is no PNG file", file);
  GreyPngReader reader(mapping.bytes());
  Check(reader.valid(), ErrorCode::kOutOfMemory, "{}: no memory for a PNG decoder", file);
  Check(reader.ReadHeader(), ErrorCode::kCorruptFile, "{}: {}", file, reader.problem());
  Check(reader.is_grey16(), ErrorCode::kUnsupportedFormat,
        "{} is no 16-bit grey image, as depth must be", file);
  DepthMap map;
  map.width = reader.width();
  map.height = reader.height();
  const size_t count = static_cast<size_t>(map.width) * static_cast<size_t>(map.height);
  std::vector<uint16_t> values(count);
  std::vector<png_bytep> rows;
  for (int y = 0; y < map.height; ++y) {
    rows.push_back(reinterpret_cast<png_bytep>(&values[static_cast<size_t>(y) * map.width]));
  }
  Check(reader.ReadAll(rows.data()), ErrorCode::kCorruptFile, "{}: {}", file, reader.problem());
  map.values.reserve(count);
  for (const uint16_t value : values) map.values.push_back(static_cast<float>(value * scale));
  return map;
}

}  // namespace lingbot
