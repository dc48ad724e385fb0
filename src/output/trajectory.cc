#include "output/trajectory.h"

#include <fstream>
#include <locale>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "geometry/pose.h"

namespace lingbot {

const char kTumComment[] =
    "# timestamp tx ty tz qx qy qz qw: seconds, world_from_camera (t = camera centre in the world, "
    "q "
    "rotates camera axes to world axes, unit length), OpenCV axes x right y down z forward, scale "
    "is "
    "relative";

std::string TumLine(double timestamp, const PoseEncoding& pose) {
  const PoseEncoding unit = WithRigidPose(pose, RigidPoseOf(pose));
  // Nine digits bring a float32 back exactly.
  return fmt::format("{:.9f} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}", timestamp, unit[0],
                     unit[1], unit[2], unit[3], unit[4], unit[5], unit[6]);
}

TumTrajectory::TumTrajectory(std::filesystem::path path) : file_(std::move(path)) {
  file_.Append(kTumComment);
}

bool TumTrajectory::Append(double timestamp, const PoseEncoding& pose) {
  if (!IsFinitePose(pose)) return false;
  file_.Append(TumLine(timestamp, pose));
  return true;
}

std::vector<TimedPose> ReadTumTrajectory(const std::filesystem::path& path) {
  Check(std::filesystem::exists(path), ErrorCode::kFileNotFound, "{} does not exist",
        path.string());
  std::ifstream file(path);
  Check(file.is_open(), ErrorCode::kFileUnreadable, "{} cannot be opened", path.string());
  std::vector<TimedPose> poses;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream stream(line);
    stream.imbue(std::locale::classic());
    TimedPose timed = {};
    stream >> timed.timestamp;
    for (int i = 0; i < 7; ++i) stream >> timed.pose[i];
    std::string rest;
    Check(!stream.fail() && !(stream >> rest), ErrorCode::kCorruptFile,
          "line {} of {} does not hold the eight numbers of a pose", number, path.string());
    poses.push_back(timed);
  }
  return poses;
}

}  // namespace lingbot
