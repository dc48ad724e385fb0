#include "evaluation/run_track.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/file_mapping.h"
#include "evaluation/text_lines.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kRecords[] = "frames.jsonl";
constexpr char kManifest[] = "manifest.json";
constexpr char kTrajectory[] = "trajectory_tum.txt";

// NaN for null, as which numbers that are none are written.
double NumberOf(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

TrackPose PoseOf(const Json& record) {
  TrackPose pose;
  pose.index = record.at("source_index").get<int64_t>();
  pose.timestamp = record.at("timestamp").get<double>();
  pose.name = record.at("source").get<std::string>();
  const Json& center = record.at("center");
  const Json& q = record.at("quaternion");
  for (size_t i = 0; i < 3; ++i) pose.pose.center[static_cast<int>(i)] = NumberOf(center.at(i));
  pose.pose.rotation = Eigen::Quaterniond(NumberOf(q.at(3)), NumberOf(q.at(0)), NumberOf(q.at(1)),
                                          NumberOf(q.at(2)));
  return pose;
}

RunFrame FrameOf(const Json& record, const fs::path& folder) {
  RunFrame frame;
  const Json& files = record.at("files");
  if (files.contains("depth_npy")) {
    const fs::path name = files.at("depth_npy").get<std::string>();
    const bool inside = name.is_relative() && *name.begin() != "..";
    if (inside) frame.depth = folder / name;
  }
  const Json& k = record.at("intrinsics_resized");
  frame.intrinsics = {NumberOf(k.at("fx")), NumberOf(k.at("fy")), NumberOf(k.at("cx")),
                      NumberOf(k.at("cy"))};
  const Json& original = record.at("intrinsics_original");
  if (original.is_object()) {
    frame.original_width = original.at("width").get<int>();
    frame.original_height = original.at("height").get<int>();
  }
  const Json& mapping = record.at("mapping");
  frame.scale_x = mapping.at("scale").at(0).get<double>();
  frame.scale_y = mapping.at("scale").at(1).get<double>();
  frame.offset_x = mapping.at("offset").at(0).get<double>();
  frame.offset_y = mapping.at("offset").at(1).get<double>();
  return frame;
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void AddRecord(std::string_view line, int number, const fs::path& path, RunTrack* run) {
  try {
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    Check(record.is_object(), ErrorCode::kCorruptFile, "it is no JSON object");
    const TrackPose pose = PoseOf(record);
    Check(std::isfinite(pose.timestamp), ErrorCode::kCorruptFile, "its time is no number");
    const size_t before = run->track.poses.size();
    AppendPose(pose, &run->track);
    if (run->track.poses.size() > before) {
      run->frames.push_back(FrameOf(record, path.parent_path()));
    }
  } catch (const Json::exception&) {
    Fail(ErrorCode::kCorruptFile,
         "line {} of {} is no record of a frame: a part that lingbot-map run writes is missing or "
         "of another kind",
         number, path.string());
  } catch (const Error& error) {
    Fail(ErrorCode::kCorruptFile, "line {} of {} is no record of a frame: {}", number,
         path.string(), error.what());
  }
}

// Images of a folder count as one a second. Frames of videos and streams are named "clip frame 7",
// and may truly come once a second.
bool HasInventedTimes(const PoseTrack& track) {
  return std::all_of(track.poses.begin(), track.poses.end(), [](const TrackPose& pose) {
    const std::string end = " frame " + std::to_string(pose.index);
    const bool of_video = pose.name.size() >= end.size() &&
                          pose.name.compare(pose.name.size() - end.size(), end.size(), end) == 0;
    return !of_video && pose.timestamp == static_cast<double>(pose.index);
  });
}

// The whole lines. A run that was killed may have left a part of one at the end.
std::string_view WholeLines(std::string_view text, RunTrack* run) {
  const size_t end = text.rfind('\n');
  const std::string_view last = text.substr(end == std::string_view::npos ? 0 : end + 1);
  if (last.empty() || Json::accept(last)) return text;
  run->cut_records = 1;
  return text.substr(0, text.size() - last.size());
}

RunTrack ReadRecords(const fs::path& path) {
  const FileMapping mapping(path);
  RunTrack run;
  TextLines lines(WholeLines(
      {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()}, &run));
  run.track.has_timestamps = true;
  for (std::string_view line; lines.Next(&line);) {
    if (!line.empty()) AddRecord(line, lines.number(), path, &run);
  }
  Check(!run.track.poses.empty(), ErrorCode::kNoInput,
        "{} holds no usable pose ({} without numbers)", path.string(), run.track.unusable);
  run.track.invented_times = HasInventedTimes(run.track);
  return run;
}

[[noreturn]] void FailNoRun(const fs::path& path) {
  Fail(ErrorCode::kNoInput, "the folder {} holds neither {} nor {}: it is none of lingbot-map run",
       path.string(), kRecords, kTrajectory);
}

// What the manifest says of the run; "" if it does not.
std::string StatusOf(const fs::path& manifest) {
  if (!IsFile(manifest)) return "";
  const FileMapping file(manifest);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  const auto json =
      nlohmann::json::parse(text, text + file.bytes().size(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  const auto status = json.find("status");
  return status != json.end() && status->is_string() ? status->get<std::string>() : "";
}

}  // namespace

RunTrack ReadRun(const fs::path& path) {
  std::error_code problem;
  Check(fs::exists(path, problem), ErrorCode::kFileNotFound, "the run {} does not exist",
        path.string());
  if (!fs::is_directory(path, problem)) return {ReadPoseFile(path), {}};
  RunTrack run;
  if (IsFile(path / kRecords)) {
    run = ReadRecords(path / kRecords);
  } else if (IsFile(path / kTrajectory)) {
    run.track = ReadPoseFile(path / kTrajectory);
  } else {
    FailNoRun(path);
  }
  run.status = StatusOf(path / kManifest);
  return run;
}

}  // namespace lingbot
