#ifndef LINGBOT_CAMERA_H_
#define LINGBOT_CAMERA_H_

#include <array>

namespace lingbot {

// What the camera head says of a frame: translation x y z, quaternion x y z w, vertical and
// horizontal field of view in radians. Camera-to-world; OpenCV axes (x right, y down, z forward);
// the unit of length is the model's own (scale is relative).
using PoseEncoding = std::array<float, 9>;

// p_world = rotation * p_camera + center.
struct WorldFromCamera {
  std::array<double, 9> rotation;  // row-major 3x3
  std::array<double, 3> center;    // position of the camera in the world
};

// Pinhole camera of the resized image, in pixels. The principal point is the image centre (W/2,
// H/2); pixel (u, v) of the grid u = 0..W-1, v = 0..H-1 is unprojected as ((u - cx)/fx, (v -
// cy)/fy, 1).
struct Intrinsics {
  double fx, fy, cx, cy;
};

// The quaternion is normalised by its squared norm; an all-zero one gives the identity.
WorldFromCamera WorldFromCameraOf(const PoseEncoding& pose);

// fx = (W/2)/tan(fov_h/2), fy = (H/2)/tan(fov_v/2). A field of view of 0 (the activation's floor)
// gives an infinite focal length: check with std::isfinite before dividing.
Intrinsics IntrinsicsOf(const PoseEncoding& pose, int height, int width);

}  // namespace lingbot

#endif  // LINGBOT_CAMERA_H_
