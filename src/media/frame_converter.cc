#include "media/frame_converter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr int kHdRows = 720;
constexpr size_t kRowAlignment = 64;

// The formats named yuvj are limited-range ones with full range implied.
struct Layout {
  AVPixelFormat format;
  bool full_range;
};

Layout LayoutOf(const AVFrame& frame) {
  const bool full = frame.color_range == AVCOL_RANGE_JPEG;
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ420P:
      return {AV_PIX_FMT_YUV420P, true};
    case AV_PIX_FMT_YUVJ422P:
      return {AV_PIX_FMT_YUV422P, true};
    case AV_PIX_FMT_YUVJ444P:
      return {AV_PIX_FMT_YUV444P, true};
    case AV_PIX_FMT_YUVJ440P:
      return {AV_PIX_FMT_YUV440P, true};
    case AV_PIX_FMT_YUVJ411P:
      return {AV_PIX_FMT_YUV411P, true};
    default:
      return {static_cast<AVPixelFormat>(frame.format), full};
  }
}

int MatrixOf(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    default:
      return frame.height >= kHdRows ? SWS_CS_ITU709 : SWS_CS_ITU601;
  }
}

// Width of the frame with square pixels. Ratios beyond 4 are no camera's but damage.
int SquareWidth(int width, AVRational aspect) {
  if (aspect.num <= 0 || aspect.den <= 0) return width;
  const double ratio = static_cast<double>(aspect.num) / aspect.den;
  if (ratio < 0.25 || ratio > 4) return width;
  return std::max(1, static_cast<int>(std::lround(width * ratio)));
}

}  // namespace

Orientation OrientationOf(const int32_t* matrix) {
  if (matrix == nullptr) return Orientation::kUpright;
  // Stored (x, y) is shown at (a x + c y, b x + d y).
  const int64_t a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
  if (std::abs(a) + std::abs(d) >= std::abs(b) + std::abs(c)) {
    if (a < 0) return d < 0 ? Orientation::kUpsideDown : Orientation::kMirrored;
    return d < 0 ? Orientation::kFlipped : Orientation::kUpright;
  }
  if (b < 0) return c < 0 ? Orientation::kTransverse : Orientation::kTurnCounterwise;
  return c < 0 ? Orientation::kTurnClockwise : Orientation::kTransposed;
}

FrameConverter::FrameConverter(Orientation orientation, AVRational aspect, int64_t max_pixels)
    : orientation_(orientation), aspect_(aspect), max_pixels_(max_pixels) {}

FrameConverter::Key FrameConverter::KeyOf(const AVFrame& frame) const {
  const Layout layout = LayoutOf(frame);
  const AVRational aspect = aspect_.num > 0 ? aspect_ : frame.sample_aspect_ratio;
  return {frame.width,     frame.height,
          layout.format,   SquareWidth(frame.width, aspect),
          MatrixOf(frame), layout.full_range ? 1 : 0};
}

void FrameConverter::Prepare(const Key& key, const std::string& name) {
  if (scaler_ != nullptr && key == key_) return;
  Check(key.out_width > 0 && key.height > 0 && key.height <= max_pixels_ / key.out_width,
        ErrorCode::kUnsupportedFormat,
        "{}: {}x{} pixels are more than the {} that a frame of a video may have", name,
        key.out_width, key.height, max_pixels_);
  const auto format = static_cast<AVPixelFormat>(key.format);
  // Chroma is interpolated in both directions, and sums are rounded: it shows at edges.
  constexpr int kFlags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT;
  if (sws_isSupportedInput(format) > 0) {
    scaler_.reset(sws_getContext(key.width, key.height, format, key.out_width, key.height,
                                 AV_PIX_FMT_RGB24, kFlags, nullptr, nullptr, nullptr));
  } else {
    scaler_ = nullptr;
  }
  const char* format_name = av_get_pix_fmt_name(format);
  Check(scaler_ != nullptr, ErrorCode::kUnsupportedFormat,
        "{}: pixels of the kind {} cannot be converted; convert the video, for example to H.264",
        name, format_name == nullptr ? "unknown" : format_name);
  constexpr int kOne = 1 << 16;
  sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(key.matrix), key.range,
                           sws_getCoefficients(SWS_CS_DEFAULT), /*dstRange=*/1, 0, kOne, kOne);
  key_ = key;
}

void FrameConverter::Convert(const AVFrame& frame, const std::string& name, Image* image) {
  const Key key = KeyOf(frame);
  Prepare(key, name);
  const size_t row = 3 * static_cast<size_t>(key.out_width);
  const size_t stride = (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  rows_.resize(stride * static_cast<size_t>(key.height) + 2 * kRowAlignment);
  const size_t shift = -reinterpret_cast<uintptr_t>(rows_.data()) % kRowAlignment;
  uint8_t* target[4] = {rows_.data() + shift, nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(stride), 0, 0, 0};
  const int done =
      sws_scale(scaler_.get(), frame.data, frame.linesize, 0, key.height, target, strides);
  Check(done == key.height, ErrorCode::kUnsupportedFormat, "{}: its colours cannot be converted",
        name);
  image->width = key.out_width;
  image->height = key.height;
  image->rgb.resize(row * static_cast<size_t>(key.height));
  for (int y = 0; y < key.height; ++y) {
    std::copy_n(target[0] + stride * static_cast<size_t>(y), row,
                image->rgb.data() + row * static_cast<size_t>(y));
  }
  ApplyOrientation(orientation_, image);
}

}  // namespace lingbot
