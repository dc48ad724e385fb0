#ifndef LINGBOT_OUTPUT_TRAJECTORY_H_
#define LINGBOT_OUTPUT_TRAJECTORY_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lingbot/camera.h"
#include "output/output_file.h"

namespace lingbot {

// What the file says of itself, and the line of one frame, without line feeds. The pose must be
// finite.
extern const char kTumComment[];
std::string TumLine(double timestamp, const PoseEncoding& pose);

// Trajectory in the format of the TUM RGB-D benchmark, one line per frame: "timestamp tx ty tz qx
// qy qz qw", world_from_camera, in seconds and the model's own unit of length. Valid after every
// line.
class TumTrajectory {
 public:
  // Creates the file with a comment line that states the convention. Throws kFileUnwritable.
  explicit TumTrajectory(std::filesystem::path path);

  // Goes on with an older file after its first `size` bytes, see LineFile.
  TumTrajectory(std::filesystem::path path, uint64_t size) : file_(std::move(path), size) {}

  // Poses that are not finite are left out, because readers of this format choke on "nan"; returns
  // false then.
  bool Append(double timestamp, const PoseEncoding& pose);

  void Verify() const { file_.Verify(); }
  uint64_t size() const { return file_.size(); }

 private:
  LineFile file_;
};

struct TimedPose {
  double timestamp;
  PoseEncoding pose;  // fields of view 0: the format has none
};

// Reads a TUM trajectory; lines that start with '#' and empty lines are skipped. Throws
// kFileNotFound, kFileUnreadable, kCorruptFile (line number in the message).
std::vector<TimedPose> ReadTumTrajectory(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_TRAJECTORY_H_
