#include "geometry/pose.h"

#include <algorithm>
#include <cmath>

namespace lingbot {
namespace {

bool FirstNonZeroIsNegative(const Eigen::Quaterniond& q) {
  for (const double value : {q.w(), q.x(), q.y(), q.z()}) {
    if (value != 0.0) return value < 0.0;
  }
  return false;
}

}  // namespace

Eigen::Quaterniond UnitQuaternion(const Eigen::Quaterniond& quaternion) {
  // The sum of squares of float32 values neither overflows nor vanishes in double.
  const double squared_norm = quaternion.squaredNorm();
  if (squared_norm == 0.0) return Eigen::Quaterniond::Identity();
  const double sign = FirstNonZeroIsNegative(quaternion) ? -1.0 : 1.0;
  Eigen::Quaterniond unit;
  const double factor = sign / std::sqrt(squared_norm);
  // Adding 0 turns -0 into 0, so that files do not show "-0".
  unit.coeffs() = (quaternion.coeffs() * factor).array() + 0.0;
  return unit;
}

RigidPose RigidPoseOf(const PoseEncoding& pose) {
  const Eigen::Quaterniond quaternion(pose[6], pose[3], pose[4], pose[5]);  // w first in Eigen
  return {UnitQuaternion(quaternion), Eigen::Vector3d(pose[0], pose[1], pose[2])};
}

PoseEncoding WithRigidPose(const PoseEncoding& pose, const RigidPose& rigid) {
  const Eigen::Quaterniond q = UnitQuaternion(rigid.rotation);
  PoseEncoding result = pose;
  for (int i = 0; i < 3; ++i) result[i] = static_cast<float>(rigid.center[i]);
  for (int i = 0; i < 4; ++i) result[3 + i] = static_cast<float>(q.coeffs()[i]);  // x y z w
  return result;
}

bool IsFinitePose(const PoseEncoding& pose) {
  return std::all_of(pose.begin(), pose.begin() + 7,
                     [](float value) { return std::isfinite(value); });
}

}  // namespace lingbot
