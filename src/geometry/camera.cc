#include "lingbot/camera.h"

#include <cmath>

#include "geometry/pose.h"

namespace lingbot {

WorldFromCamera WorldFromCameraOf(const PoseEncoding& pose) {
  const RigidPose rigid = RigidPoseOf(pose);
  WorldFromCamera result;
  using RowMajor = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(result.rotation.data()) = rigid.rotation.toRotationMatrix();
  Eigen::Map<Eigen::Vector3d>(result.center.data()) = rigid.center;
  return result;
}

Intrinsics IntrinsicsOf(const PoseEncoding& pose, int height, int width) {
  const double half_height = height / 2.0;
  const double half_width = width / 2.0;
  const double fov_v = pose[7];
  const double fov_h = pose[8];
  return {half_width / std::tan(fov_h / 2), half_height / std::tan(fov_v / 2), half_width,
          half_height};
}

}  // namespace lingbot
