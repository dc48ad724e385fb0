#ifndef LINGBOT_GEOMETRY_POSE_H_
#define LINGBOT_GEOMETRY_POSE_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "lingbot/camera.h"

namespace lingbot {

// p_world = rotation * p_camera + center. `rotation` has unit length.
struct RigidPose {
  Eigen::Quaterniond rotation;  // world_from_camera
  Eigen::Vector3d center;       // position of the camera in the world
};

// The same rotation with unit length and w >= 0; with w = 0 the first non-zero of x, y, z is
// positive, so that one rotation has one quaternion. All zeros give the identity; non-finite input
// stays NaN.
Eigen::Quaterniond UnitQuaternion(const Eigen::Quaterniond& quaternion);

RigidPose RigidPoseOf(const PoseEncoding& pose);

// `pose` with its translation and quaternion replaced; the fields of view stay.
PoseEncoding WithRigidPose(const PoseEncoding& pose, const RigidPose& rigid);

// False if any of the translation and quaternion is NaN or infinite.
bool IsFinitePose(const PoseEncoding& pose);

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_POSE_H_
