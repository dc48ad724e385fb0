#ifndef LINGBOT_GEOMETRY_UNPROJECT_H_
#define LINGBOT_GEOMETRY_UNPROJECT_H_

#include <Eigen/Core>

#include "geometry/pose.h"
#include "lingbot/camera.h"

namespace lingbot {

// True if pixels can be turned into directions: both focal lengths finite and not zero. A field of
// view of 0 gives an infinite one.
bool CanUnproject(const Intrinsics& intrinsics);

// True if both fields of view lie in (0, pi), as those of a pinhole camera must. Outside, the
// arithmetic may still be defined (negative focal lengths), but it means nothing.
bool IsPhysicalFieldOfView(const PoseEncoding& pose);

// Turns pixels with depth into points of the world: center + R * K^-1 * (u, v, 1) * depth, with u,
// v on the pixel grid 0..W-1, 0..H-1. K^-1 (u, v, 1) is affine in (u, v), so R * K^-1 is kept as
// three columns.
class Unprojector {
 public:
  // `intrinsics` must satisfy CanUnproject; throws kInvalidArgument otherwise.
  Unprojector(const RigidPose& world_from_camera, const Intrinsics& intrinsics);

  Eigen::Vector3d operator()(double u, double v, double depth) const {
    return center_ + (per_u_ * u + per_v_ * v + at_origin_) * depth;
  }

 private:
  Eigen::Vector3d per_u_, per_v_, at_origin_;  // direction of depth 1 through (u, v), world axes
  Eigen::Vector3d center_;
};

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_UNPROJECT_H_
