#ifndef LINGBOT_EVALUATION_POSE_TRACK_H_
#define LINGBOT_EVALUATION_POSE_TRACK_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "geometry/pose.h"

namespace lingbot {

// One pose of a trajectory and what it can be recognised by.
struct TrackPose {
  int64_t index = 0;     // position in the source, from 0
  double timestamp = 0;  // seconds
  std::string name;      // of the image; empty = none
  int camera = 0;        // of GroundTruth::cameras
  RigidPose pose;        // world_from_camera
};

// A trajectory in the order of its source.
struct PoseTrack {
  std::vector<TrackPose> poses;
  bool has_timestamps = false;
  bool invented_times = false;  // numbers of frames in place of times, as image folders have
  int64_t unusable = 0;  // poses left out, as they hold no numbers (NaN, a quaternion of zeros)

  bool has_names() const { return !poses.empty() && !poses.front().name.empty(); }
};

// Larger coordinates are refused as damage, so that squares and sums of them stay finite.
inline constexpr double kFarthest = 1e12;

// True if every coordinate is a number of at most kFarthest and the quaternion has a length.
bool IsUsablePose(const RigidPose& pose);

// Appends a pose with its quaternion made a unit one, or counts it as unusable.
void AppendPose(const TrackPose& pose, PoseTrack* track);

// Reads a text file of poses: eight numbers a line are TUM's "timestamp x y z qx qy qz qw"
// (world_from_camera, seconds), twelve are KITTI's 3x4 matrices (world_from_camera, row-major).
// Empty lines and lines that begin with # are skipped. Throws kFileNotFound, kFileUnreadable,
// kUnsupportedFormat if the first line has neither count, kCorruptFile with the line's number.
PoseTrack ReadPoseFile(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_POSE_TRACK_H_
