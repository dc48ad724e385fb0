#include "media/png_decoder.h"

#include <csetjmp>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/png_input.h"
#include "media/blend.h"

namespace lingbot {
namespace {

class PngReader : public PngInput {
 public:
  explicit PngReader(std::span<const std::byte> bytes) : PngInput(bytes) {}

  bool has_alpha() const { return channels_ == 4; }
  bool interlaced() const { return passes_ > 1; }

  // Reads up to the image data and asks for 8-bit RGB or RGBA.
  bool ReadHeader(int width, int height) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, 0x7FFFFFFF, 0x7FFFFFFF);  // the caller has checked the product
    png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);  // checked already
    png_read_info(png_, info_);
    png_set_expand(png_);  // palette to RGB, 1, 2, 4 bits to 8, tRNS to alpha
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    const bool expected = png_get_image_width(png_, info_) == static_cast<png_uint_32>(width) &&
                          png_get_image_height(png_, info_) == static_cast<png_uint_32>(height) &&
                          png_get_bit_depth(png_, info_) == 8 && (channels_ == 3 || channels_ == 4);
    if (!expected) png_error(png_, "the header contradicts itself");
    return true;
  }

  // Reads all passes of the image into `rows`, which holds `height` rows of `stride` bytes.
  bool ReadAll(uint8_t* rows, size_t stride, int height) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (int y = 0; y < height; ++y) png_read_row(png_, rows + stride * y, nullptr);
    }
    return true;
  }

  bool ReadRow(uint8_t* row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_row(png_, row, nullptr);
    return true;
  }

 private:
  int channels_ = 0;
  int passes_ = 1;
};

bool ReadPixels(PngReader* reader, Image* image) {
  const size_t width = image->width;
  image->rgb.resize(3 * width * image->height);
  if (!reader->has_alpha()) return reader->ReadAll(image->rgb.data(), 3 * width, image->height);
  // Interlaced passes need the whole image with its alpha; otherwise a row will do.
  std::vector<uint8_t> rgba(4 * width * (reader->interlaced() ? image->height : 1));
  if (reader->interlaced() && !reader->ReadAll(rgba.data(), 4 * width, image->height)) return false;
  for (int y = 0; y < image->height; ++y) {
    const uint8_t* row = rgba.data() + (reader->interlaced() ? 4 * width * y : 0);
    if (!reader->interlaced() && !reader->ReadRow(rgba.data())) return false;
    BlendOntoWhite(row, width, image->rgb.data() + 3 * width * y);
  }
  return true;
}

}  // namespace

void DecodePng(std::span<const std::byte> bytes, std::string_view name, Image* image) {
  PngReader reader(bytes);
  Check(reader.valid(), ErrorCode::kOutOfMemory, "{}: no memory for a PNG decoder", name);
  const bool read = reader.ReadHeader(image->width, image->height) && ReadPixels(&reader, image);
  Check(read, ErrorCode::kCorruptFile, "{}: damaged PNG: {}; copy or export the file again", name,
        reader.problem());
}

}  // namespace lingbot
