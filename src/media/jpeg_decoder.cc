#include "media/jpeg_decoder.h"

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <vector>

// jpeglib.h uses FILE and size_t without including what declares them.
#include <jerror.h>
#include <jpeglib.h>

#include "base/check.h"

namespace lingbot {
namespace {

// Encoders write about ten scans. Each costs a pass over the image, so a small file could ask for
// hours.
constexpr int kMaxScans = 256;

// Warnings after which libjpeg goes on with invented pixels.
bool LosesData(int message) {
  switch (message) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      return true;
    default:
      return false;
  }
}

// libjpeg leaves a function that failed with longjmp, which skips destructors. Everything that owns
// memory is therefore a member here, and the functions that call setjmp have trivial locals only.
class JpegReader {
 public:
  explicit JpegReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = OnError;
    errors_.emit_message = OnMessage;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = OnProgress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  const char* problem() const { return problem_; }
  bool unsupported() const { return unsupported_; }
  bool four_channels() const { return info_.out_color_space == JCS_CMYK; }

  bool ReadHeader(int width, int height) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    // The walk over the file's structure may have seen another frame header than the one that
    // counts here.
    if (info_.image_width != static_cast<JDIMENSION>(width) ||
        info_.image_height != static_cast<JDIMENSION>(height)) {
      ERREXIT(&info_, JERR_SOF_DUPLICATE);
    }
    const bool four = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = four ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    return true;
  }

  bool ReadRow(uint8_t* row) {
    if (setjmp(jump_) != 0) return false;
    jpeg_read_scanlines(&info_, &row, 1);
    return true;
  }

  // Reads on to the end marker, so that a lack of it is seen.
  bool Finish() {
    if (setjmp(jump_) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  static JpegReader* Self(j_common_ptr info) { return static_cast<JpegReader*>(info->client_data); }

  [[noreturn]] static void OnError(j_common_ptr info) {
    JpegReader* self = Self(info);
    const int code = info->err->msg_code;
    info->err->format_message(info, self->problem_);
    self->unsupported_ = code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION ||
                         code == JERR_CONVERSION_NOTIMPL || code == JERR_ARITH_NOTIMPL ||
                         code == JERR_NOT_COMPILED || code == JERR_NOTIMPL;
    std::longjmp(self->jump_, 1);
  }

  static void OnMessage(j_common_ptr info, int level) {
    if (level < 0 && LosesData(info->err->msg_code)) OnError(info);
  }

  static void OnProgress(j_common_ptr info) {
    const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
    if (decompress->input_scan_number > kMaxScans) {
      info->err->msg_code = JERR_BAD_PROGRESSION;
      OnError(info);
    }
  }

  std::span<const std::byte> bytes_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_;
  char problem_[JMSG_LENGTH_MAX] = "";
  bool unsupported_ = false;
};

// cmyk: a row of inverted samples, so that 255 is no ink and the product of ink and black is what
// remains.
void CmykToRgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
  }
}

bool ReadPixels(JpegReader* reader, Image* image) {
  const size_t stride = size_t{3} * image->width;
  image->rgb.resize(stride * image->height);
  std::vector<uint8_t> cmyk(reader->four_channels() ? size_t{4} * image->width : 0);
  for (int y = 0; y < image->height; ++y) {
    uint8_t* row = image->rgb.data() + stride * y;
    if (!reader->ReadRow(cmyk.empty() ? row : cmyk.data())) return false;
    if (!cmyk.empty()) CmykToRgb(cmyk.data(), image->width, row);
  }
  return true;
}

}  // namespace

void DecodeJpeg(std::span<const std::byte> bytes, std::string_view name, Image* image) {
  JpegReader reader(bytes);
  const bool read = reader.ReadHeader(image->width, image->height) && ReadPixels(&reader, image) &&
                    reader.Finish();
  if (read) return;
  if (reader.unsupported()) {
    Fail(ErrorCode::kUnsupportedFormat,
         "{}: a kind of JPEG that is not read ({}); export it as a baseline 8-bit JPEG or as a PNG",
         name, reader.problem());
  }
  Fail(ErrorCode::kCorruptFile, "{}: damaged JPEG: {}; copy or export the file again", name,
       reader.problem());
}

}  // namespace lingbot
