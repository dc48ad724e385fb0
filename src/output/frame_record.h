#ifndef LINGBOT_OUTPUT_FRAME_RECORD_H_
#define LINGBOT_OUTPUT_FRAME_RECORD_H_

#include <cstdint>
#include <span>
#include <string>

#include "lingbot/camera.h"

namespace lingbot {

// Where the resized image lies in the original, upright one (after EXIF or rotation metadata was
// applied), in pixels whose corners are whole numbers: resized = original * scale + offset, per
// axis. Cropping gives negative offsets, padding positive ones.
struct ImageMapping {
  int original_width = 0;  // 0 = unknown: no intrinsics of the original are written then
  int original_height = 0;
  double scale_x = 1.0;
  double scale_y = 1.0;
  double offset_x = 0.0;
  double offset_y = 0.0;
};

// Everything that is written about one frame. The spans need to live only during the call; maps are
// row-major.
struct FrameRecord {
  int64_t index = 0;         // position in the processed stream; must grow from frame to frame
  std::string source_name;   // file of the frame, or of the video
  int64_t source_index = 0;  // position in the source, before strides and skipped files
  double timestamp = 0.0;    // seconds
  bool keyframe = false;
  PoseEncoding pose = {};
  int height = 0;
  int width = 0;
  std::span<const float> depth;       // [height, width]
  std::span<const float> confidence;  // [height, width]
  std::span<const uint8_t>
      rgb;  // [height, width, 3], the resized image; may be empty without a cloud and images
  ImageMapping mapping;
};

// False if the original is unknown, or the mapping no mapping.
bool IsUsableMapping(const ImageMapping& mapping);

// The camera of the resized image, taken back to the original's pixels: x_original = (x_resized +
// 0.5 - offset) / scale - 0.5, because in both images pixel centres lie at whole numbers. Needs
// IsUsableMapping.
Intrinsics OriginalIntrinsics(const Intrinsics& resized, const ImageMapping& mapping);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_FRAME_RECORD_H_
