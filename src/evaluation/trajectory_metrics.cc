#include "evaluation/trajectory_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lingbot {
namespace {

constexpr double kDegrees = 180.0 / 3.14159265358979323846;

// The pose b seen from a.
RigidPose Relative(const RigidPose& a, const RigidPose& b) {
  return {a.rotation.conjugate() * b.rotation, a.rotation.conjugate() * (b.center - a.center)};
}

double AngleBetween(const Eigen::Vector3d& a, const Eigen::Vector3d& b) {
  return kDegrees * std::atan2(a.cross(b).norm(), a.dot(b));
}

// The larger of the two angles, in degrees; `still` is the largest translation without direction.
double PairError(const RigidPose& run, const RigidPose& truth, double still) {
  const double rotation = lingbot::AngleBetween(run.rotation, truth.rotation);
  if (truth.center.norm() <= still) return rotation;
  const double length = run.center.norm();
  const double direction =
      length > 0 ? AngleBetween(Eigen::Vector3d(run.center / length), truth.center) : 180.0;
  return std::max(rotation, direction);
}

// Positions on the line a + b * time nearest to the true ones: one linear regression an axis.
std::vector<double> LineErrors(const std::vector<Eigen::Vector3d>& truth,
                               std::span<const double> times) {
  const auto count = static_cast<double>(truth.size());
  double mean_time = 0;
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (size_t i = 0; i < truth.size(); ++i) {
    mean_time += times[i] / count;
    mean += truth[i] / count;
  }
  double spread = 0;
  Eigen::Vector3d product = Eigen::Vector3d::Zero();
  for (size_t i = 0; i < truth.size(); ++i) {
    spread += (times[i] - mean_time) * (times[i] - mean_time);
    product += (times[i] - mean_time) * (truth[i] - mean);
  }
  const Eigen::Vector3d speed = spread > 0 ? Eigen::Vector3d(product / spread) : product * 0;
  std::vector<double> errors;
  for (size_t i = 0; i < truth.size(); ++i) {
    errors.push_back((truth[i] - mean - speed * (times[i] - mean_time)).norm());
  }
  return errors;
}

}  // namespace

double PathLength(std::span<const RigidPose> poses) {
  double length = 0;
  for (size_t i = 1; i < poses.size(); ++i)
    length += (poses[i].center - poses[i - 1].center).norm();
  return length;
}

std::vector<Eigen::Vector3d> CentersOf(std::span<const RigidPose> poses) {
  std::vector<Eigen::Vector3d> centers;
  centers.reserve(poses.size());
  for (const RigidPose& pose : poses) centers.push_back(pose.center);
  return centers;
}

double AngleBetween(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b) {
  const Eigen::Quaterniond difference = a.conjugate() * b;
  return kDegrees * 2.0 * std::atan2(difference.vec().norm(), std::abs(difference.w()));
}

std::vector<double> PositionErrors(const PosePairs& pairs, const Similarity& alignment) {
  std::vector<double> errors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    errors.push_back((pairs.truth[i].center - alignment * pairs.run[i].center).norm());
  }
  return errors;
}

std::vector<double> RotationErrors(const PosePairs& pairs, const Similarity& alignment) {
  const Eigen::Quaterniond rotation(alignment.rotation);
  std::vector<double> errors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    errors.push_back(AngleBetween(pairs.truth[i].rotation, rotation * pairs.run[i].rotation));
  }
  return errors;
}

std::vector<double> RotationErrorsFromFirst(const PosePairs& pairs) {
  std::vector<double> errors;
  for (size_t i = 1; i < pairs.size(); ++i) {
    errors.push_back(AngleBetween(Relative(pairs.truth[0], pairs.truth[i]).rotation,
                                  Relative(pairs.run[0], pairs.run[i]).rotation));
  }
  return errors;
}

RelativeErrors RelativePoseErrors(const PosePairs& pairs, double scale, int64_t delta,
                                  bool all_pairs) {
  const auto step = static_cast<size_t>(delta);
  std::vector<double> translations;
  std::vector<double> rotations;
  for (size_t i = 0; i + step < pairs.size(); i += all_pairs ? 1 : step) {
    const RigidPose truth = Relative(pairs.truth[i], pairs.truth[i + step]);
    const RigidPose run = Relative(pairs.run[i], pairs.run[i + step]);
    translations.push_back((truth.center - scale * run.center).norm());
    rotations.push_back(AngleBetween(truth.rotation, run.rotation));
  }
  return {delta, Summarise(std::move(translations)), Summarise(std::move(rotations))};
}

RelativeAccuracy RelativePoseAccuracy(const PosePairs& pairs) {
  const double still = 1e-6 * PathLength(pairs.truth);
  const size_t taken = std::min(pairs.size(), kMostAucPoses);
  const auto nth = [&](size_t i) { return i * pairs.size() / taken; };
  std::array<int64_t, kAucThresholds.back()> histogram{};  // of errors, one degree wide
  RelativeAccuracy result;
  for (size_t i = 0; i < taken; ++i) {
    for (size_t j = i + 1; j < taken; ++j) {
      const double error = PairError(Relative(pairs.run[nth(i)], pairs.run[nth(j)]),
                                     Relative(pairs.truth[nth(i)], pairs.truth[nth(j)]), still);
      if (error < kAucThresholds.back()) ++histogram[static_cast<size_t>(error)];
      ++result.pairs;
    }
  }
  if (result.pairs == 0) return result;
  for (size_t k = 0; k < kAucThresholds.size(); ++k) {
    int64_t below = 0;
    int64_t sum = 0;
    for (int degree = 0; degree < kAucThresholds[k]; ++degree) sum += below += histogram[degree];
    result.auc[k] = static_cast<double>(sum) /
                    (static_cast<double>(result.pairs) * static_cast<double>(kAucThresholds[k]));
  }
  return result;
}

TrivialErrors TrivialPoseErrors(const PosePairs& pairs) {
  TrivialErrors result;
  if (pairs.size() == 0) return result;
  const std::vector<Eigen::Vector3d> truth = CentersOf(pairs.truth);
  const std::vector<double> no_time(truth.size(), 0.0);
  result.static_position = Summarise(LineErrors(truth, no_time));
  result.line_position = Summarise(LineErrors(truth, pairs.times));
  PosePairs still;
  still.truth = pairs.truth;
  still.run.assign(pairs.size(), pairs.truth[0]);
  result.static_rotation = Summarise(RotationErrorsFromFirst(still));
  return result;
}

}  // namespace lingbot
