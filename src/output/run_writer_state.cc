#include <algorithm>
#include <fstream>

#include "base/check.h"
#include "output/run_reader.h"
#include "output/run_writer.h"

namespace lingbot {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestState = 1 << 20;

// Reads what RunWriter::StateJson wrote; what is damaged is an error.
class StateReader {
 public:
  StateReader(const std::string& text, const std::string& name)
      : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)), name_(name) {}

  int64_t Count(const char* key) const {
    const Json& value = Find(key);
    Check(value.is_number_integer() && value >= -1 && value <= int64_t{1} << 60,
          ErrorCode::kCorruptFile, "{} is damaged: {} is not a count", name_, key);
    return value.get<int64_t>();
  }
  uint64_t Bytes(const char* key) const {
    return static_cast<uint64_t>(std::max<int64_t>(0, Count(key)));
  }
  std::optional<double> Number(const char* key) const {
    const Json& value = Find(key);
    Check(value.is_null() || (value.is_number() && value > 0), ErrorCode::kCorruptFile,
          "{} is damaged: {} is not a positive number", name_, key);
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  }
  const Json& Find(const char* key) const {
    Check(json_.is_object() && json_.contains(key), ErrorCode::kCorruptFile,
          "{} is damaged: it lacks {} of the run", name_, key);
    return json_[key];
  }

 private:
  Json json_;
  const std::string& name_;
};

int64_t CountLines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  int64_t lines = 0;
  while (std::getline(file, line)) ++lines;
  return lines;
}

}  // namespace

Json RunWriter::StateJson() const {
  const auto unit = files_->depth_png_unit();
  Json json = {{"frames", frame_count_},
               {"keyframes", keyframe_count_},
               {"last_index", last_index_},
               {"unplaced_frames", unplaced_frames_},
               {"saturated_frames", saturated_frames_},
               {"depth_png_unit", unit ? Json(*unit) : Json(nullptr)},
               {"frames_bytes", frames_->size()},
               {"trajectory_bytes", trajectory_ ? trajectory_->size() : 0},
               {"first_frame", nullptr}};
  if (manifest_.contains("first_frame")) json["first_frame"] = manifest_["first_frame"];
  return json;
}

void RunWriter::SaveState(ByteSink& sink) const {
  Check(open_, ErrorCode::kInvalidArgument, "the run in {} was saved before it was resumed",
        folder_.string());
  SyncFileSystem(folder_);
  WriteText(sink, JsonText(StateJson(), -1));
  exports_.Save(sink);
}

void RunWriter::Resume(ByteSource& source) {
  Check(!open_, ErrorCode::kInvalidArgument, "the run in {} was resumed twice", folder_.string());
  const StateReader state(ReadText(source, "the state of the run", kLargestState), source.name());
  exports_.Load(source);
  frame_count_ = state.Count("frames");
  keyframe_count_ = state.Count("keyframes");
  last_index_ = state.Count("last_index");
  unplaced_frames_ = state.Count("unplaced_frames");
  saturated_frames_ = state.Count("saturated_frames");
  if (!state.Find("first_frame").is_null()) manifest_["first_frame"] = state.Find("first_frame");
  frames_.emplace(folder_ / kFramesName, state.Bytes("frames_bytes"));
  if (options_.trajectory) {
    trajectory_.emplace(folder_ / kTrajectoryName, state.Bytes("trajectory_bytes"));
  }
  RemoveFramesFrom(folder_, last_index_ + 1);
  const int64_t lines = CountLines(folder_ / kFramesName);
  Check(lines == frame_count_, ErrorCode::kCorruptFile,
        "{} holds {} records where the run had {}; start anew with --overwrite",
        (folder_ / kFramesName).string(), lines, frame_count_);
  FrameFileOptions files = options_.frames;
  files.depth_png_unit = state.Number("depth_png_unit").value_or(files.depth_png_unit);
  files_.emplace(folder_, files);
  exports_.Open(folder_);
  ReplayExports();
  NoteResumption();
  open_ = true;
  WriteManifest();
}

// What formats remember of a frame is in its record.
void RunWriter::ReplayExports() {
  if (options_.exports.empty()) return;
  RunReader reader(folder_);
  LoadedFrame frame;
  while (reader.Next({/*depth=*/false, /*confidence=*/false, /*rgb=*/false}, &frame)) {
    exports_.Replay(frame.record);
  }
}

// The manifest lists at which frames the run was taken up again.
void RunWriter::NoteResumption() {
  const Json earlier = ManifestIn(folder_);
  Json resumptions = Json::array();
  if (earlier.contains("resumed_at_frames") && earlier["resumed_at_frames"].is_array()) {
    resumptions = earlier["resumed_at_frames"];
  }
  resumptions.push_back(frame_count_);
  manifest_["resumed_at_frames"] = resumptions;
}

}  // namespace lingbot
