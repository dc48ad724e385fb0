#ifndef LINGBOT_EVALUATION_TRUTH_CAMERA_H_
#define LINGBOT_EVALUATION_TRUTH_CAMERA_H_

#include "lingbot/camera.h"

namespace lingbot {

// A true camera, in pixels of its own images; pixel (u, v) looks along ((u - cx)/fx, (v - cy)/fy,
// 1), u = 0 at the centre of the first column. A depth map of another size covers the same picture:
// its pixel i lies at (i + 0.5) * width / map width - 0.5. A width of 0 says that nothing is known.
struct TruthCamera {
  int width = 0;
  int height = 0;
  Intrinsics intrinsics = {0, 0, 0, 0};
  bool distorted = false;  // has lens parameters besides these
};

// Focal lengths and principal point are usable numbers.
bool IsUsableCamera(const TruthCamera& camera);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_TRUTH_CAMERA_H_
