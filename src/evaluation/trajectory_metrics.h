#ifndef LINGBOT_EVALUATION_TRAJECTORY_METRICS_H_
#define LINGBOT_EVALUATION_TRAJECTORY_METRICS_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluation/similarity.h"
#include "evaluation/statistics.h"
#include "geometry/pose.h"

namespace lingbot {

// Poses of the same moments, world_from_camera, each in its own world.
struct PosePairs {
  std::vector<RigidPose> run;
  std::vector<RigidPose> truth;
  std::vector<double> times;  // seconds, or frame numbers where there are none

  size_t size() const { return run.size(); }
};

// Sum of the distances from pose to pose.
double PathLength(std::span<const RigidPose> poses);

std::vector<Eigen::Vector3d> CentersOf(std::span<const RigidPose> poses);

// Angle of the rotation from a to b, in degrees, 0 to 180.
double AngleBetween(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b);

// |truth - alignment * run| of every pose.
std::vector<double> PositionErrors(const PosePairs& pairs, const Similarity& alignment);

// Angle between the true and the aligned rotation of every pose, degrees.
std::vector<double> RotationErrors(const PosePairs& pairs, const Similarity& alignment);

// The same with the rotations counted from the first pose, of which there is then no error; of the
// second pose and the later ones. Needs no alignment.
std::vector<double> RotationErrorsFromFirst(const PosePairs& pairs);

// Errors of the motion over `delta` matched poses, as the evo package defines them:
// E = (Q_i^-1 Q_j)^-1 (P_i^-1 P_j) with true Q and aligned P, j = i + delta; translation |E|
// in the truth's unit, rotation the angle of E. `all_pairs`: i = 0, 1, 2, ...; else i = 0, delta,
// 2 delta, ...
struct RelativeErrors {
  int64_t delta = 1;
  ErrorStatistics translation;
  ErrorStatistics rotation_degrees;
};
RelativeErrors RelativePoseErrors(const PosePairs& pairs, double scale, int64_t delta,
                                  bool all_pairs);

// Area under the curve of accuracy over all pairs i < j. A pair's error is the larger of two
// angles: that between the true and the computed relative rotation, and that between the true and
// the computed direction of relative translation (opposite directions are 180 degrees apart). Where
// the true camera does not move (by less than a millionth of the path) only rotation counts. AUC@T
// is the mean over the thresholds 1, 2, ..., T degrees of the part of the pairs whose error is
// below. Of more than kMostAucPoses poses evenly spread ones are taken.
inline constexpr size_t kMostAucPoses = 2000;
inline constexpr std::array<int, 3> kAucThresholds = {5, 15, 30};
struct RelativeAccuracy {
  int64_t pairs = 0;
  std::array<double, 3> auc{};
};
RelativeAccuracy RelativePoseAccuracy(const PosePairs& pairs);

// What a camera that knows nothing of the images would get.
struct TrivialErrors {
  ErrorStatistics static_position;  // a camera that stays at the mean of the true positions
  ErrorStatistics line_position;    // that moves on the best line at the best constant speed
  ErrorStatistics static_rotation;  // that never turns, from the first pose on, degrees
};
TrivialErrors TrivialPoseErrors(const PosePairs& pairs);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_TRAJECTORY_METRICS_H_
