#include "output/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <new>

#include "base/check.h"

namespace lingbot {
namespace {

// libpng reports errors through longjmp, which must not cross frames with destructors: everything
// that owns memory lives in this struct, outside the function that calls libpng.
struct Encoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<std::byte> bytes;
  char message[128] = "";
  bool out_of_memory = false;

  ~Encoder() { png_destroy_write_struct(&png, &info); }
};

void OnError(png_structp png, png_const_charp message) {
  auto* encoder = static_cast<Encoder*>(png_get_error_ptr(png));
  std::strncpy(encoder->message, message, sizeof(encoder->message) - 1);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnWrite(png_structp png, png_bytep data, png_size_t length) {
  auto* encoder = static_cast<Encoder*>(png_get_io_ptr(png));
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    encoder->bytes.insert(encoder->bytes.end(), begin, begin + length);
    return;
  } catch (const std::bad_alloc&) {
    encoder->out_of_memory = true;
  }
  png_error(png, "out of memory");
}

void OnFlush(png_structp) {}

struct Layout {
  int height;
  int width;
  int bits;        // of a sample
  int color_type;  // as libpng names them
  int filter;
  int level;  // of deflate
};

bool Encode(Encoder* encoder, const png_bytep* rows, const Layout& layout, png_textp texts,
            int text_count) {
  if (setjmp(png_jmpbuf(encoder->png))) return false;
  png_set_write_fn(encoder->png, encoder, OnWrite, OnFlush);
  png_set_IHDR(encoder->png, encoder->info, static_cast<png_uint_32>(layout.width),
               static_cast<png_uint_32>(layout.height), layout.bits, layout.color_type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(encoder->png, layout.level);
  png_set_filter(encoder->png, PNG_FILTER_TYPE_BASE, layout.filter);
  png_set_text(encoder->png, encoder->info, texts, text_count);
  png_write_info(encoder->png, encoder->info);
  if (layout.bits == 16) png_set_swap(encoder->png);  // PNG is big-endian
  png_write_image(encoder->png, const_cast<png_bytepp>(rows));
  png_write_end(encoder->png, nullptr);
  return true;
}

std::vector<png_text> TextChunks(std::span<const PngText> texts) {
  std::vector<png_text> chunks;
  for (const PngText& text : texts) {
    png_text chunk = {};
    chunk.compression = PNG_TEXT_COMPRESSION_NONE;
    chunk.key = const_cast<png_charp>(text.key.c_str());
    chunk.text = const_cast<png_charp>(text.value.c_str());
    chunk.text_length = text.value.size();
    chunks.push_back(chunk);
  }
  return chunks;
}

// `samples` of one row are `stride`.
template <typename T>
std::vector<std::byte> EncodeImage(std::span<const T> samples, size_t stride, const Layout& layout,
                                   std::span<const PngText> texts) {
  std::vector<png_bytep> rows(static_cast<size_t>(layout.height));
  for (size_t row = 0; row < rows.size(); ++row) {
    const T* begin = samples.data() + row * stride;
    rows[row] = reinterpret_cast<png_bytep>(const_cast<T*>(begin));
  }
  std::vector<png_text> chunks = TextChunks(texts);
  Encoder encoder;
  encoder.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder, OnError, OnWarning);
  if (encoder.png != nullptr) encoder.info = png_create_info_struct(encoder.png);
  if (encoder.info == nullptr) throw std::bad_alloc();
  const bool done =
      Encode(&encoder, rows.data(), layout, chunks.data(), static_cast<int>(chunks.size()));
  if (encoder.out_of_memory) throw std::bad_alloc();
  Check(done, ErrorCode::kInternal, "libpng cannot encode a {}-bit image of {}x{} pixels: {}",
        layout.bits, layout.width, layout.height, encoder.message);
  return std::move(encoder.bytes);
}

void CheckSize(size_t samples, int height, int width, size_t per_pixel) {
  Check(height > 0 && width > 0 &&
            samples == per_pixel * static_cast<size_t>(height) * static_cast<size_t>(width),
        ErrorCode::kShapeMismatch, "{} values given for a PNG of {} rows and {} columns", samples,
        height, width);
}

}  // namespace

std::vector<std::byte> EncodePng16(std::span<const uint16_t> values, int height, int width,
                                   std::span<const PngText> texts) {
  CheckSize(values.size(), height, width, 1);
  // Depth maps are smooth: the Sub filter with fast deflate keeps nearly the size of level 6 in a
  // fraction of its time.
  return EncodeImage(values, static_cast<size_t>(width),
                     {height, width, 16, PNG_COLOR_TYPE_GRAY, PNG_FILTER_SUB, 2}, texts);
}

std::vector<std::byte> EncodePngRgb(std::span<const uint8_t> rgb, int height, int width) {
  CheckSize(rgb.size(), height, width, 3);
  return EncodeImage(rgb, 3 * static_cast<size_t>(width),
                     {height, width, 8, PNG_COLOR_TYPE_RGB, PNG_FILTER_SUB, 1}, {});
}

}  // namespace lingbot
