#include "geometry/unproject.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace lingbot {

bool CanUnproject(const Intrinsics& intrinsics) {
  return std::isfinite(intrinsics.fx) && std::isfinite(intrinsics.fy) && intrinsics.fx != 0.0 &&
         intrinsics.fy != 0.0 && std::isfinite(intrinsics.cx) && std::isfinite(intrinsics.cy);
}

bool IsPhysicalFieldOfView(const PoseEncoding& pose) {
  constexpr double kPi = std::numbers::pi;
  return pose[7] > 0.0f && pose[7] < kPi && pose[8] > 0.0f && pose[8] < kPi;
}

Unprojector::Unprojector(const RigidPose& world_from_camera, const Intrinsics& intrinsics) {
  Check(CanUnproject(intrinsics), ErrorCode::kInvalidArgument,
        "cannot unproject with focal lengths fx={} fy={}: both must be finite and not zero (a "
        "field of "
        "view of 0 gives an infinite one)",
        intrinsics.fx, intrinsics.fy);
  const Eigen::Matrix3d rotation = world_from_camera.rotation.toRotationMatrix();
  per_u_ = rotation.col(0) / intrinsics.fx;
  per_v_ = rotation.col(1) / intrinsics.fy;
  at_origin_ = rotation.col(2) - per_u_ * intrinsics.cx - per_v_ * intrinsics.cy;
  center_ = world_from_camera.center;
}

}  // namespace lingbot
