#ifndef LINGBOT_EVALUATION_SIMILARITY_H_
#define LINGBOT_EVALUATION_SIMILARITY_H_

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string>

#include "geometry/pose.h"

namespace lingbot {

// p_truth = scale * rotation * p_run + translation.
struct Similarity {
  double scale = 1.0;
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& point) const {
    return scale * (rotation * point) + translation;
  }
  RigidPose operator*(const RigidPose& pose) const;
};

// Either an alignment or why there is none.
struct Alignment {
  std::optional<Similarity> similarity;
  std::string problem;
};

// The similarity (or, without scale, the rigid motion) that minimises the sum of
// |truth - similarity * run|^2: Umeyama, "Least-squares estimation of transformation parameters
// between two point patterns", 1991. It is not determined, and a problem is stated, for fewer than
// three positions, where one side does not move, and where the positions lie on one line. Throws
// kShapeMismatch if the counts differ.
Alignment AlignPositions(std::span<const Eigen::Vector3d> run,
                         std::span<const Eigen::Vector3d> truth, bool with_scale);

// The similarity that whole poses agree on: its rotation is the chordal mean of truth * run^-1
// over all poses, its scale and translation fit the positions best with that rotation. Unlike
// AlignPositions it is determined, and exact, on straight and nearly straight paths. A problem is
// stated for fewer than two poses, where one side does not move, and where the paths run against
// each other. Throws kShapeMismatch if the counts differ.
Alignment AlignPoses(std::span<const RigidPose> run, std::span<const RigidPose> truth);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_SIMILARITY_H_
