#ifndef LINGBOT_OUTPUT_EXPORT_CAMERA_H_
#define LINGBOT_OUTPUT_EXPORT_CAMERA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "geometry/pose.h"
#include "output/frame_record.h"

namespace lingbot {

// What formats with cameras say of a frame.
struct ExportCamera {
  int64_t index = 0;
  RigidPose pose;  // world_from_camera
  int width = 0;
  int height = 0;
  Intrinsics intrinsics = {};  // of the resized image, pixel centres at whole numbers
};

// Nothing if the frame has no camera that means anything: a pose that is not finite, or a field of
// view outside (0, pi).
std::optional<ExportCamera> ExportCameraOf(const FrameRecord& record);

// "000012.png", as in images/ of the run.
std::string ImageNameOf(int64_t index);

// Tools that put pixel centres at half integers (COLMAP, nerfstudio) see the principal point half a
// pixel farther.
Intrinsics WithHalfPixel(const Intrinsics& intrinsics);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_EXPORT_CAMERA_H_
