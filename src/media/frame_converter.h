#ifndef LINGBOT_MEDIA_FRAME_CONVERTER_H_
#define LINGBOT_MEDIA_FRAME_CONVERTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "media/ffmpeg.h"
#include "media/image.h"
#include "media/orientation.h"

namespace lingbot {

// The orientation that a display matrix asks for: the nearest quarter turn, mirrored or not.
// matrix: 9 numbers as FFmpeg keeps them; nullptr = upright.
Orientation OrientationOf(const int32_t* matrix);

// Decoded video frames into upright 8-bit RGB.
//
// The matrix (BT.601, BT.709, BT.2020, ...) and the range of the samples are taken from the frame;
// one that does not name its matrix counts as BT.709 from 720 rows on, else as BT.601, and its
// range as limited. Pixels that are not square are resampled to square ones across. High dynamic
// range is not mapped to a lower one.
class FrameConverter {
 public:
  // aspect: of the stream's pixels, 0/1 = as the frames say.
  FrameConverter(Orientation orientation, AVRational aspect, int64_t max_pixels);

  // Into image->rgb, width and height. Throws kUnsupportedFormat, with `name` in the message.
  void Convert(const AVFrame& frame, const std::string& name, Image* image);

 private:
  // What the conversion depends on.
  struct Key {
    int width = 0, height = 0, format = -1, out_width = 0;
    int matrix = 0, range = 0;
    bool operator==(const Key&) const = default;
  };

  Key KeyOf(const AVFrame& frame) const;
  void Prepare(const Key& key, const std::string& name);

  Orientation orientation_;
  AVRational aspect_;
  int64_t max_pixels_;
  Key key_;
  ffmpeg::Owned<SwsContext> scaler_;
  std::vector<uint8_t> rows_;  // rows at a stride that the scaler's vector code may fill up
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_FRAME_CONVERTER_H_
