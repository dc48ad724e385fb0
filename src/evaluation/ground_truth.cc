#include "evaluation/ground_truth.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/check.h"
#include "evaluation/colmap.h"
#include "evaluation/text_lines.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool IsFolder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

double PositiveAt(const Json& json, const char* key, const fs::path& file) {
  const auto found = json.find(key);
  const bool positive = found != json.end() && found->is_number() && *found > 0 && *found < 1e9;
  Check(positive, ErrorCode::kCorruptFile, "{} needs \"{}\" as a positive number", file.string(),
        key);
  return found->get<double>();
}

// {"width", "height", "fx", "fy", "cx", "cy", "depth_scale"}, the last one optional.
void ReadCameraFile(const fs::path& path, GroundTruth* truth) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  Check(json.is_object(), ErrorCode::kCorruptFile, "{} is no JSON object", path.string());
  TruthCamera camera;
  camera.width = static_cast<int>(std::min(PositiveAt(json, "width", path), 1e6));
  camera.height = static_cast<int>(std::min(PositiveAt(json, "height", path), 1e6));
  camera.intrinsics = {PositiveAt(json, "fx", path), PositiveAt(json, "fy", path),
                       PositiveAt(json, "cx", path), PositiveAt(json, "cy", path)};
  Check(IsUsableCamera(camera), ErrorCode::kCorruptFile, "{} describes no pinhole camera",
        path.string());
  truth->cameras = {camera};
  if (!json.contains("depth_scale")) return;
  truth->depth_scale = PositiveAt(json, "depth_scale", path);
  truth->depth_scale_known = true;
}

void ReadPosesInto(const fs::path& file, GroundTruth* truth) {
  truth->track = ReadPoseFile(file);
  truth->format = truth->track.has_timestamps ? "TUM" : "KITTI";
}

void ReadColmapInto(const fs::path& folder, GroundTruth* truth) {
  ColmapModel model = ReadColmap(folder);
  truth->format = "COLMAP";
  truth->track = std::move(model.track);
  truth->cameras = std::move(model.cameras);
}

// The folder that holds the poses: the one given or one that is usual below it.
fs::path PoseFolder(const fs::path& folder) {
  const fs::path candidates[] = {folder, folder / "ground_truth", folder / "sparse" / "0",
                                 folder / "sparse"};
  for (const fs::path& candidate : candidates) {
    if (IsFile(candidate / "poses.txt") || IsColmapFolder(candidate)) return candidate;
  }
  return folder;
}

void ReadFolder(const fs::path& folder, GroundTruth* truth) {
  for (const char* name : {"poses.txt", "groundtruth.txt", "trajectory_tum.txt"}) {
    if (IsFile(folder / name)) {
      ReadPosesInto(folder / name, truth);
      break;
    }
  }
  if (truth->track.poses.empty()) {
    Check(IsColmapFolder(folder), ErrorCode::kNoInput,
          "the ground truth {} holds no poses: neither poses.txt (TUM or KITTI) nor a COLMAP "
          "model",
          folder.string());
    ReadColmapInto(folder, truth);
  }
  if (IsFile(folder / "camera.json")) ReadCameraFile(folder / "camera.json", truth);
}

// Finds the pose that a depth map is named after.
class PoseFinder {
 public:
  PoseFinder(const PoseTrack& track, double tolerance) : track_(track), tolerance_(tolerance) {
    for (size_t i = 0; i < track.poses.size(); ++i) {
      const TrackPose& pose = track.poses[i];
      if (!pose.name.empty()) by_name_.try_emplace(fs::path(pose.name).stem().string(), i);
      by_index_.try_emplace(pose.index, i);
      by_time_.try_emplace(pose.timestamp, i);
    }
  }

  // Position in the track, or its length if there is none.
  size_t Find(const std::string& stem) const {
    if (const auto named = by_name_.find(stem); named != by_name_.end()) return named->second;
    double number = 0;
    if (!ParseNumber(stem, &number) || !(std::abs(number) < 1e15)) return track_.poses.size();
    if (stem.find('.') != std::string::npos) return NearestInTime(number);
    const auto indexed = by_index_.find(static_cast<int64_t>(number));
    return indexed == by_index_.end() ? track_.poses.size() : indexed->second;
  }

 private:
  size_t NearestInTime(double time) const {
    size_t best = track_.poses.size();
    double least = tolerance_;
    auto above = by_time_.lower_bound(time);
    if (above != by_time_.begin()) --above;
    for (int i = 0; i < 2 && above != by_time_.end(); ++i, ++above) {
      const double distance = std::abs(above->first - time);
      if (distance > least) continue;
      least = distance;
      best = above->second;
    }
    return track_.has_timestamps ? best : track_.poses.size();
  }

  const PoseTrack& track_;
  double tolerance_;
  std::map<std::string, size_t> by_name_;
  std::map<int64_t, size_t> by_index_;
  std::map<double, size_t> by_time_;
};

void FindDepthMaps(const fs::path& folder, double tolerance, GroundTruth* truth) {
  std::error_code problem;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".png" || extension == ".npy") files.push_back(entry->path());
  }
  Check(!problem, ErrorCode::kFileUnreadable, "cannot look into the depth folder {}: {}",
        folder.string(), problem.message());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const bool a_png = a.extension() == ".png";
    const bool b_png = b.extension() == ".png";
    return a_png != b_png ? b_png : a < b;
  });
  const PoseFinder finder(truth->track, tolerance);
  for (const fs::path& file : files) {
    const size_t pose = finder.Find(file.stem().string());
    if (pose == truth->depths.size()) continue;
    if (!truth->depths[pose].empty()) {
      if (truth->spare_depth_maps++ == 0) {
        truth->spare_depth_map = fmt::format("{}, but {} counts", file.filename().string(),
                                             truth->depths[pose].filename().string());
      }
      continue;
    }
    truth->depths[pose] = file;
    ++truth->depth_maps;
  }
}

}  // namespace

GroundTruth ReadGroundTruth(const GroundTruthOptions& options) {
  std::error_code problem;
  Check(fs::exists(options.path, problem), ErrorCode::kFileNotFound,
        "the ground truth {} does not exist", options.path.string());
  GroundTruth truth;
  fs::path depth = options.depth;
  if (IsFolder(options.path)) {
    const fs::path folder = PoseFolder(options.path);
    ReadFolder(folder, &truth);
    if (depth.empty() && IsFolder(folder / "depth")) depth = folder / "depth";
  } else if (options.path.filename() == "images.txt" || options.path.filename() == "images.bin") {
    ReadColmapInto(options.path.parent_path(), &truth);
  } else {
    ReadPosesInto(options.path, &truth);
  }
  if (options.depth_scale) truth.depth_scale = *options.depth_scale;
  truth.depth_scale_known = truth.depth_scale_known || options.depth_scale.has_value();
  truth.depths.resize(truth.track.poses.size());
  if (!depth.empty()) FindDepthMaps(depth, options.tolerance, &truth);
  Check(options.depth.empty() || truth.depth_maps > 0, ErrorCode::kNoInput,
        "no depth map (.png, .npy) in {} is named after a pose", options.depth.string());
  return truth;
}

}  // namespace lingbot
