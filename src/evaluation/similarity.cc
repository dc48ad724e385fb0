#include "evaluation/similarity.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace lingbot {
namespace {

// Positions about their mean.
struct Centred {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  Eigen::Matrix3Xd offsets;
  double variance = 0;  // mean squared distance from the mean

  explicit Centred(std::span<const Eigen::Vector3d> points) {
    const auto count = static_cast<double>(points.size());
    for (const Eigen::Vector3d& point : points) mean += point / count;
    offsets.resize(3, static_cast<Eigen::Index>(points.size()));
    for (size_t i = 0; i < points.size(); ++i) {
      offsets.col(static_cast<Eigen::Index>(i)) = points[i] - mean;
    }
    variance = offsets.squaredNorm() / count;
  }

  // Spread below what coordinates of this size can tell from rounding.
  bool stands_still() const {
    return std::sqrt(variance) <= 1e-12 * mean.cwiseAbs().maxCoeff() || variance < 1e-200;
  }
};

std::string DegenerateReason(const Centred& run, const Centred& truth,
                             const Eigen::Vector3d& singular_values) {
  if (run.stands_still()) return "the run's camera does not move";
  if (truth.stands_still()) return "the true camera does not move";
  // Singular values are products of the two spreads: a second one of 1e-12 of the first means
  // paths that leave a line by a millionth of their length.
  if (!(singular_values[1] > 1e-12 * singular_values[0])) {
    return "the positions lie on one line, so that rotation about it is not determined";
  }
  return {};
}

// The rotation U diag(1, 1, +-1) V^T of a matrix U S V^T.
Eigen::Matrix3d NearestRotation(const Eigen::Matrix3d& matrix) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Vector3d signs(1, 1, 1);
  if ((svd.matrixU() * svd.matrixV().transpose()).determinant() < 0) signs[2] = -1;
  return svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();
}

}  // namespace

RigidPose Similarity::operator*(const RigidPose& pose) const {
  return {UnitQuaternion(Eigen::Quaterniond(rotation) * pose.rotation), *this * pose.center};
}

Alignment AlignPositions(std::span<const Eigen::Vector3d> run,
                         std::span<const Eigen::Vector3d> truth, bool with_scale) {
  Check(run.size() == truth.size(), ErrorCode::kShapeMismatch,
        "{} positions cannot be aligned with {}", run.size(), truth.size());
  Alignment result;
  if (run.size() < 3) {
    result.problem = fmt::format("alignment needs at least 3 matched poses, there {} {}",
                                 run.size() == 1 ? "is" : "are", run.size());
    return result;
  }
  const Centred from(run);
  const Centred to(truth);
  const Eigen::Matrix3d covariance =
      to.offsets * from.offsets.transpose() / static_cast<double>(run.size());
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(covariance,
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  result.problem = DegenerateReason(from, to, svd.singularValues());
  if (!result.problem.empty()) return result;
  Eigen::Vector3d signs(1, 1, 1);
  if ((svd.matrixU() * svd.matrixV().transpose()).determinant() < 0) signs[2] = -1;
  Similarity similarity;
  similarity.rotation = svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();
  if (with_scale) similarity.scale = svd.singularValues().dot(signs) / from.variance;
  similarity.translation = to.mean - similarity.scale * (similarity.rotation * from.mean);
  result.similarity = similarity;
  return result;
}

Alignment AlignPoses(std::span<const RigidPose> run, std::span<const RigidPose> truth) {
  Check(run.size() == truth.size(), ErrorCode::kShapeMismatch, "{} poses cannot be aligned with {}",
        run.size(), truth.size());
  Alignment result;
  if (run.size() < 2) {
    result.problem = fmt::format("alignment of poses needs at least 2 matched ones, there {} {}",
                                 run.size() == 1 ? "is" : "are", run.size());
    return result;
  }
  std::vector<Eigen::Vector3d> run_centers, truth_centers;
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  for (size_t i = 0; i < run.size(); ++i) {
    run_centers.push_back(run[i].center);
    truth_centers.push_back(truth[i].center);
    sum += (truth[i].rotation * run[i].rotation.conjugate()).toRotationMatrix();
  }
  const Centred from(run_centers);
  const Centred to(truth_centers);
  if (from.stands_still()) result.problem = "the run's camera does not move";
  if (to.stands_still()) result.problem = "the true camera does not move";
  if (!result.problem.empty()) return result;
  Similarity similarity;
  similarity.rotation = NearestRotation(sum);
  similarity.scale = (to.offsets.array() * (similarity.rotation * from.offsets).array()).sum() /
                     from.offsets.squaredNorm();
  if (!(similarity.scale > 0)) {
    result.problem = "the run's path runs against the true one";
    return result;
  }
  similarity.translation = to.mean - similarity.scale * (similarity.rotation * from.mean);
  result.similarity = similarity;
  return result;
}

}  // namespace lingbot
