#include "evaluation/pose_track.h"

#include <Eigen/Dense>
#include <cmath>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/file_mapping.h"
#include "evaluation/text_lines.h"

namespace lingbot {
namespace {

constexpr size_t kTumNumbers = 8;
constexpr size_t kKittiNumbers = 12;

TrackPose TumPose(std::span<const double> n) {
  TrackPose pose;
  pose.timestamp = n[0];
  pose.pose.center = {n[1], n[2], n[3]};
  pose.pose.rotation = Eigen::Quaterniond(n[7], n[4], n[5], n[6]);  // w first in Eigen
  return pose;
}

// The files' few digits leave matrices that are only nearly rotations: takes the nearest one.
// False if there is none near.
bool NearestRotation(const Eigen::Matrix3d& matrix, Eigen::Quaterniond* rotation) {
  constexpr double kTolerance = 0.01;
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::Matrix3d nearest = svd.matrixU() * svd.matrixV().transpose();
  *rotation = Eigen::Quaterniond(nearest);
  return nearest.determinant() > 0 && (nearest - matrix).cwiseAbs().maxCoeff() < kTolerance;
}

TrackPose KittiPose(std::span<const double> n, const std::string& file, int line) {
  TrackPose pose;
  pose.pose.center = {n[3], n[7], n[11]};
  Eigen::Matrix3d matrix;
  matrix << n[0], n[1], n[2], n[4], n[5], n[6], n[8], n[9], n[10];
  if (!matrix.allFinite()) {
    pose.pose.rotation.coeffs().setConstant(std::nan(""));
    return pose;
  }
  Check(NearestRotation(matrix, &pose.pose.rotation), ErrorCode::kCorruptFile,
        "line {} of {} holds a matrix that is no rotation", line, file);
  return pose;
}

}  // namespace

bool IsUsablePose(const RigidPose& pose) {
  const auto usable = [](double value) { return std::abs(value) <= kFarthest; };  // false for NaN
  for (int i = 0; i < 3; ++i) {
    if (!usable(pose.center[i])) return false;
  }
  for (int i = 0; i < 4; ++i) {
    if (!usable(pose.rotation.coeffs()[i])) return false;
  }
  return pose.rotation.norm() > 1e-6;
}

void AppendPose(const TrackPose& pose, PoseTrack* track) {
  if (!IsUsablePose(pose.pose)) {
    ++track->unusable;
    return;
  }
  track->poses.push_back(pose);
  track->poses.back().pose.rotation = UnitQuaternion(pose.pose.rotation);
}

PoseTrack ReadPoseFile(const std::filesystem::path& path) {
  const FileMapping mapping(path);
  TextLines lines({reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()});
  const std::string file = path.string();
  PoseTrack track;
  std::vector<double> numbers;
  size_t expected = 0;
  int64_t index = 0;
  for (std::string_view line; lines.Next(&line);) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    const bool valid = ParseNumbers(line, &numbers);
    if (expected == 0) {
      expected = numbers.size();
      Check(valid && (expected == kTumNumbers || expected == kKittiNumbers),
            ErrorCode::kUnsupportedFormat,
            "line {} of {} holds neither the 8 numbers of a TUM pose nor the 12 of a KITTI one",
            lines.number(), file);
      track.has_timestamps = expected == kTumNumbers;
    }
    Check(valid && numbers.size() == expected, ErrorCode::kCorruptFile,
          "line {} of {} does not hold the {} numbers of a pose", lines.number(), file, expected);
    TrackPose pose =
        track.has_timestamps ? TumPose(numbers) : KittiPose(numbers, file, lines.number());
    Check(std::isfinite(pose.timestamp), ErrorCode::kCorruptFile, "line {} of {} has no time: {}",
          lines.number(), file, pose.timestamp);
    pose.index = index++;
    AppendPose(pose, &track);
  }
  Check(!track.poses.empty(), ErrorCode::kNoInput, "{} holds no usable pose ({} without numbers)",
        file, track.unusable);
  return track;
}

}  // namespace lingbot
