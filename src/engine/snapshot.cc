#include "engine/snapshot.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/checked_file.h"

namespace lingbot {
namespace {

using Json = nlohmann::ordered_json;

constexpr CheckedFileKind kSnapshotFile = {"LINGSNAP", 1, "a snapshot"};
constexpr uint64_t kLargestHead = uint64_t{64} << 20;

const char* PrecisionName(Precision precision) {
  return precision == Precision::kBFloat16 ? "bf16" : "fp32";
}

// What must be equal, by names that a message can show.
Json StateJson(const SnapshotInfo& info) {
  Json json = {{"mode", info.windowed ? "windowed" : "streaming"},
               {"weights", info.fingerprint},
               {"precision", PrecisionName(info.precision)},
               {"width", info.width},
               {"height", info.height},
               {"scale_frames", info.options.scale_frames},
               {"sliding_window", info.options.sliding_window},
               {"keyframe_interval", info.options.keyframe_interval},
               {"keyframe_motion", info.options.keyframe_motion},
               {"keyframe_max_gap", info.options.keyframe_max_gap},
               {"camera_iterations", info.options.camera_iterations},
               {"trajectory_frames", info.options.trajectory_frames},
               {"strict", info.options.strict}};
  if (info.windowed) {
    json["window_size"] = info.windows.window_size;
    json["overlap_keyframes"] = info.windows.overlap_keyframes;
    json["overlap_frames"] = info.windows.overlap_frames;
  }
  return json;
}

std::string HeadText(const SnapshotInfo& info, const std::string& note) {
  Json json = {{"state", StateJson(info)}, {"frames", info.frames}, {"note", note}};
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// A damaged head passes the checksum only if someone made it so; it is an error all the same.
class HeadReader {
 public:
  HeadReader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  int64_t Integer(const char* key, int64_t most) const {
    const Json& value = Find(key);
    Check(value.is_number_integer() && value >= 0 && value <= most, ErrorCode::kCorruptFile,
          "{} is damaged: {} is not a number from 0 to {}", name_, key, most);
    return value.get<int64_t>();
  }
  double Number(const char* key) const {
    const Json& value = Find(key);
    Check(value.is_number(), ErrorCode::kCorruptFile, "{} is damaged: {} is not a number", name_,
          key);
    return value.get<double>();
  }
  int Int(const char* key) const { return static_cast<int>(Integer(key, INT32_MAX)); }
  std::string Text(const char* key) const {
    const Json& value = Find(key);
    Check(value.is_string(), ErrorCode::kCorruptFile, "{} is damaged: {} is not a text", name_,
          key);
    return value.get<std::string>();
  }
  bool Flag(const char* key) const {
    const Json& value = Find(key);
    Check(value.is_boolean(), ErrorCode::kCorruptFile, "{} is damaged: {} is not a boolean", name_,
          key);
    return value.get<bool>();
  }
  const Json& Find(const char* key) const {
    Check(json_.is_object() && json_.contains(key), ErrorCode::kCorruptFile,
          "{} is damaged: it lacks {}", name_, key);
    return json_[key];
  }

 private:
  const Json& json_;
  const std::string& name_;
};

SnapshotInfo ReadHead(CheckedFileReader& file) {
  const std::string text = ReadText(file, "its head", kLargestHead);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const HeadReader head(json, file.name());
  const HeadReader state(head.Find("state"), file.name());
  SnapshotInfo info;
  info.bytes = file.file_bytes();
  info.frames = head.Integer("frames", int64_t{1} << 40);
  info.note = head.Text("note");
  info.windowed = state.Text("mode") == "windowed";
  info.fingerprint = state.Text("weights");
  info.precision = state.Text("precision") == "bf16" ? Precision::kBFloat16 : Precision::kFloat32;
  info.width = state.Int("width");
  info.height = state.Int("height");
  info.options.scale_frames = state.Int("scale_frames");
  info.options.sliding_window = state.Int("sliding_window");
  info.options.keyframe_interval = state.Int("keyframe_interval");
  info.options.keyframe_motion = state.Number("keyframe_motion");
  info.options.keyframe_max_gap = state.Int("keyframe_max_gap");
  info.options.camera_iterations = state.Int("camera_iterations");
  info.options.trajectory_frames = state.Int("trajectory_frames");
  info.options.strict = state.Flag("strict");
  if (info.windowed) {
    info.windows.window_size = state.Int("window_size");
    info.windows.overlap_keyframes = state.Int("overlap_keyframes");
    info.windows.overlap_frames = state.Int("overlap_frames");
  }
  return info;
}

void CheckSame(const std::string& file, const SnapshotInfo& saved, const SnapshotInfo& own) {
  const Json expected = StateJson(own);
  const Json actual = StateJson(saved);
  for (const auto& [key, value] : expected.items()) {
    const Json& there = actual.contains(key) ? actual[key] : Json();
    Check(there == value, ErrorCode::kInvalidArgument,
          "{} is of another session: its {} is {}, but here it is {}", file, key, there.dump(),
          value.dump());
  }
}

void SkipRest(ByteSource& source) {
  std::array<char, 65536> buffer;
  while (source.left() > 0) {
    source.Read(buffer.data(),
                static_cast<size_t>(std::min<uint64_t>(source.left(), buffer.size())));
  }
}

}  // namespace

SnapshotInfo DescribeStream(const ModelInfo& model, const StreamPlan& plan) {
  SnapshotInfo info;
  info.fingerprint = model.fingerprint;
  info.precision = model.precision;
  info.height = plan.height;
  info.width = plan.width;
  info.options.scale_frames = plan.scale_frames;
  info.options.sliding_window = plan.sliding_window;
  info.options.camera_iterations = plan.camera_iterations;
  info.options.trajectory_frames = plan.cache.trajectory_frames;
  info.options.strict = plan.cache.strict;
  return info;
}

void SaveSnapshot(const std::filesystem::path& path, const SnapshotInfo& info,
                  const std::string& note, const SnapshotSaver& more,
                  const std::function<void(ByteSink&)>& save) {
  const std::string head = HeadText(info, note);
  Check(head.size() <= kLargestHead, ErrorCode::kInvalidArgument,
        "the note of a snapshot has {} bytes; at most {} are allowed", note.size(), kLargestHead);
  CheckedFileWriter file(path, kSnapshotFile);
  WriteText(file, head);
  save(file);
  if (more) more([&](const void* data, size_t bytes) { file.Write(data, bytes); });
  file.Commit();
}

void LoadSnapshot(const std::filesystem::path& path, const SnapshotInfo& own,
                  const SnapshotLoader& more, const std::function<void(ByteSource&)>& load,
                  const std::function<void()>& reset) {
  CheckedFileReader file(path, kSnapshotFile);
  CheckSame(file.name(), ReadHead(file), own);
  try {
    load(file);
    if (more) {
      more([&](void* data, size_t bytes) { file.Read(data, bytes); });
    } else {
      SkipRest(file);
    }
    file.Finish();
  } catch (...) {
    reset();
    throw;
  }
}

SnapshotInfo InspectSnapshot(const std::filesystem::path& path) {
  CheckedFileReader file(path, kSnapshotFile, CheckedFileReader::Checking::kHeader);
  return ReadHead(file);
}

}  // namespace lingbot
