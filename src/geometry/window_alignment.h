#ifndef LINGBOT_GEOMETRY_WINDOW_ALIGNMENT_H_
#define LINGBOT_GEOMETRY_WINDOW_ALIGNMENT_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <span>

#include "geometry/pose.h"
#include "lingbot/camera.h"

namespace lingbot {

// Similarity that brings what a window computed into the frame of the result:
// p_world = scale * rotation * p_window + translation. Window 0 has the identity.
struct WindowAlignment {
  double scale = 1.0;
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
};

// Depths of one overlap frame from both windows, pixel by pixel; equal lengths.
struct DepthPair {
  std::span<const float>
      aligned;  // of the previous window, already aligned (multiplied by its scale)
  std::span<const float> window;  // of the window to be aligned
};

// Median over all pixels of all pairs of aligned / window; pixels count if both depths are finite
// and |window| > 1.19e-7. Of an even number the lower middle element. Clamped to [1e-3, 1e3]; 1 if
// no pixel counts. Needs 4 bytes per pixel. Throws kShapeMismatch if a pair's lengths differ.
double MedianDepthScale(std::span<const DepthPair> pairs);

// `anchor_aligned` and `anchor_window` are the poses of the anchor frame (PlanOverlap), from the
// previous window after alignment and from this window before. All that is needed of a window is
// its overlap, i.e. its first frames; so its later frames can be aligned as they come.
WindowAlignment AlignWindow(const PoseEncoding& anchor_aligned, const PoseEncoding& anchor_window,
                            double scale);

// To be applied to every pose of every window, the first included: it also makes the quaternion a
// unit one with w >= 0. Fields of view stay.
PoseEncoding AlignPose(const WindowAlignment& alignment, const PoseEncoding& pose);

// Multiplies in place. Confidences need no alignment.
void AlignDepth(const WindowAlignment& alignment, std::span<float> depth);

// [R t; 0 1], row-major, without the scale: the form in which transforms are reported.
std::array<float, 16> TransformMatrix(const WindowAlignment& alignment);

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_WINDOW_ALIGNMENT_H_
