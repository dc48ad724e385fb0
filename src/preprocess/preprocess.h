#ifndef LINGBOT_PREPROCESS_PREPROCESS_H_
#define LINGBOT_PREPROCESS_PREPROCESS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/thread_team.h"
#include "preprocess/resample.h"
#include "preprocess/resize_size.h"
#include "tensor/buffer.h"

namespace lingbot {

// Where a pixel of the original image lies in what the model sees, and back: x' = scale_x * x +
// offset_x, in continuous coordinates in which pixel i covers [i, i + 1). Focal lengths go back as
// fx / scale_x, the principal point as (cx - offset_x) / scale_x; likewise y. "Original" is the
// upright image.
struct PixelMapping {
  double scale_x = 1, scale_y = 1;
  double offset_x = 0, offset_y = 0;
};

// A frame as the model takes it.
struct PreprocessedFrame {
  int height = 0, width = 0;
  Buffer pixels;  // float32 [3, height, width]: red, green, blue in [0, 1] (byte / 255)
  PixelMapping mapping;
  // Part of the resized image's rows that cropping cut off, in [0, 1): 0.44 for 1080x1920. 0 when
  // padding.
  double lost_rows = 0;
};

// Turns the frames of a stream into the model's input. Tables, scratch memory and the result are
// kept from frame to frame, so that frames of one size allocate nothing after the first.
class Preprocessor {
 public:
  // Throws kInvalidArgument if the options are invalid. `team` must outlive the object.
  Preprocessor(const PreprocessOptions& options, const ThreadTeam* team);

  // rgb: [height, width, 3], upright. The result is valid until the next call. Throws
  // kInvalidArgument, naming the image, if it is too small.
  const PreprocessedFrame& Run(const uint8_t* rgb, int width, int height, std::string_view name);

 private:
  void Prepare(int width, int height, const ResizeSize& size);

  PreprocessOptions options_;
  const ThreadTeam* team_;
  int in_width_ = 0, in_height_ = 0;
  int content_width_ = 0, content_height_ = 0;  // of the result, without padding
  int left_ = 0, top_ = 0;                      // padding
  std::optional<Resampler> resampler_;
  std::vector<uint8_t> resized_;  // [content_height_, content_width_, 3]
  PreprocessedFrame frame_;
};

}  // namespace lingbot

#endif  // LINGBOT_PREPROCESS_PREPROCESS_H_
