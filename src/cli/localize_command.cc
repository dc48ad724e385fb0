#include "cli/localize_command.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/thread_team.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/machine_arguments.h"
#include "cli/model_lookup.h"
#include "cli/names.h"
#include "cli/resume.h"
#include "cli/run_options.h"
#include "cli/weights_hash.h"
#include "geometry/pose.h"
#include "lingbot/model.h"
#include "lingbot/session.h"
#include "lingbot/snapshot.h"
#include "media/open_source.h"
#include "output/manifest.h"
#include "output/output_file.h"
#include "output/trajectory.h"
#include "preprocess/preprocess.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A snapshot that a map can be taken from, and what its run says of itself.
struct MapFile {
  SnapshotInfo snapshot;
  Json run;  // the head of the run's manifest
  PreprocessOptions preprocess;
};

// The entry of a run's head by its path; throws kCorruptFile if it is not there.
const Json& EntryOf(const MapFile& map, const std::string& file, const std::string& pointer) {
  const Json::json_pointer path(pointer);
  Check(map.run.contains(path), ErrorCode::kCorruptFile,
        "{} does not say {} of its run; it is not a snapshot of this program", file, pointer);
  return map.run[path];
}

int NumberIn(const MapFile& map, const std::string& file, const std::string& pointer) {
  const Json& value = EntryOf(map, file, pointer);
  Check(value.is_number_integer() && value > 0 && value <= kMaxImageSize, ErrorCode::kCorruptFile,
        "{} says {} of {}", file, JsonText(value, -1), pointer);
  return value.get<int>();
}

MapFile ReadMapFile(const std::string& path) {
  MapFile map;
  map.snapshot = InspectSnapshot(path);
  Check(!map.snapshot.windowed, ErrorCode::kInvalidArgument,
        "{} is of a run in windowed mode, which keeps its last window only: a map to localise in "
        "comes from --mode streaming",
        path);
  map.run = ReadNote(map.snapshot, path)["run"];
  map.preprocess.image_size = NumberIn(map, path, "/preprocessing/image_size");
  map.preprocess.patch_size = NumberIn(map, path, "/preprocessing/patch_size");
  map.preprocess.mode =
      EntryOf(map, path, "/preprocessing/mode") == "pad" ? ResizeMode::kPad : ResizeMode::kCrop;
  ValidateOptions(map.preprocess);
  return map;
}

// The model that the map was made with: the one named now, else the one that the run named.
fs::path ModelOf(const LocalizeOptions& options, const MapFile& map) {
  const Json& name = EntryOf(map, options.map, "/model/name");
  const Json& hash = EntryOf(map, options.map, "/model/weights_hash");
  fs::path path;
  if (!options.model.empty()) {
    path = LookUpModel(options.model, options.models_dir);
  } else {
    std::error_code ignored;
    path = name.is_string() ? name.get<std::string>() : "";
    Check(fs::exists(path, ignored), ErrorCode::kFileNotFound,
          "{} was made with the model {}, which is not there; name it with --model", options.map,
          JsonText(name, -1));
  }
  const std::string own = HashFile(path);
  Check(hash == own, ErrorCode::kInvalidArgument,
        "{} was made with another model than {}: its weights are {}, these are {}", options.map,
        path.string(), JsonText(hash, -1), own);
  return path;
}

SessionOptions SessionOf(const LocalizeOptions& options, const MapFile& map, Console* console) {
  SessionOptions session = map.snapshot.options;
  session.attention = options.attention;
  session.threads = options.threads;
  session.expected_frames = map.snapshot.frames + 1;
  session.log = [console](const std::string& line) { console->Warn(line); };
  return session;
}

std::unique_ptr<FrameSource> OpenInput(const LocalizeOptions& options, Console* console) {
  SourceOptions source;
  source.sampling.stride = options.stride;
  source.sampling.max_frames = options.max_frames;
  source.sampling.frames_per_second = options.frames_per_second;
  source.skip_bad = options.skip_bad;
  source.log = [console](const std::string& line) { console->Warn(line); };
  return OpenSource(options.input, source);
}

void CheckImageSize(const Image& image, const MapFile& map) {
  const ResizeSize size = ComputeResizeSize(image.width, image.height, map.preprocess, image.name);
  Check(size.out_width == map.snapshot.width && size.out_height == map.snapshot.height,
        ErrorCode::kShapeMismatch,
        "{} ({}x{}) comes to {}x{} pixels, but the map is made of frames of {}x{}", image.name,
        image.width, image.height, size.out_width, size.out_height, map.snapshot.width,
        map.snapshot.height);
}

double MeanConfidence(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// One image that was found, as a line for people and as a record.
class Findings {
 public:
  void Add(const Image& image, const PreprocessedFrame& frame, const FrameResult& result) {
    FrameRecord record;
    record.index = count_++;
    record.source_name = image.name;
    record.source_index = image.source_index;
    record.timestamp = image.timestamp;
    record.pose = result.pose;
    record.height = result.height;
    record.width = result.width;
    record.mapping = {image.width,           image.height,           frame.mapping.scale_x,
                      frame.mapping.scale_y, frame.mapping.offset_x, frame.mapping.offset_y};
    if (IsFinitePose(result.pose)) {
      text_ += TumLine(image.timestamp, result.pose) + "\n";
    } else {
      ++unplaced_;
    }
    Json json = FrameJson(record, {});
    for (const char* meaningless : {"keyframe", "files"}) json.erase(meaningless);
    json["mean_confidence"] = MeanConfidence(result.confidence);
    frames_.push_back(std::move(json));
  }

  int64_t count() const { return count_; }
  int64_t unplaced() const { return unplaced_; }
  std::string tum() const { return std::string(kTumComment) + "\n" + text_; }
  const Json& frames() const { return frames_; }

 private:
  int64_t count_ = 0;
  int64_t unplaced_ = 0;  // pose not finite
  std::string text_;
  Json frames_ = Json::array();
};

Findings LocalizeAll(const LocalizeOptions& options, const MapFile& map, FrameSource* source,
                     Session* session, Console* console) {
  const ThreadTeam team(options.threads);
  source->Verify(team);
  Preprocessor preprocessor(map.preprocess, &team);
  Findings findings;
  Image image;
  while (source->Next(&image)) {
    try {
      CheckImageSize(image, map);
    } catch (const Error& error) {
      if (!options.skip_bad) throw UsageError(error.code(), error.what());
      console->Warn(fmt::format("skipped image {}: {}", image.source_index, error.what()));
      continue;
    }
    const PreprocessedFrame& frame =
        preprocessor.Run(image.rgb.data(), image.width, image.height, image.name);
    const std::span<const float> rgb(frame.pixels.data<float>(),
                                     size_t{3} * frame.height * frame.width);
    findings.Add(image, frame, session->Localize(rgb));
  }
  return findings;
}

void Report(const LocalizeOptions& options, const MapFile& map, const Findings& findings,
            Console* console) {
  if (findings.unplaced() > 0) {
    console->Warn(fmt::format("{} of {} poses are not finite and are left out of the lines",
                              findings.unplaced(), findings.count()));
  }
  if (!options.out.empty()) {
    WriteFile(options.out, findings.tum());
    console->Note(fmt::format("{} poses in {}", findings.count(), options.out));
  }
  if (options.json) {
    const Json json = {{"map", options.map},
                       {"map_frames", map.snapshot.frames},
                       {"conventions", ConventionsJson()},
                       {"frames", findings.frames()}};
    PrintOut(JsonText(json, 2) + "\n");
  } else if (options.out.empty()) {
    PrintOut(findings.tum());
  }
}

void AddLocalizeArguments(CLI::App* app, LocalizeOptions* options) {
  BeginGroup(app, "Input");
  AddRequired(app, "MAP", "FILE", &options->map,
              "snapshot of a run: snapshot.bin in its folder (run --keep-snapshot)");
  AddRequired(app, "INPUT", "INPUT", &options->input,
              "folder of images, \"pattern\", image or video");
  AddNumber(
      app, "--fps", "RATE", [options](double rate) { options->frames_per_second = rate; }, 0.001,
      "all", "videos: at most so many frames a second, evenly in time");
  AddCount(app, "--stride", &options->stride, 1, "1", "use every n-th frame");
  AddCount(app, "--max-frames", &options->max_frames, 0, "0", "stop after so many frames; 0 = all");
  AddSwitch(app, "--skip-bad", &options->skip_bad,
            "leave out images that cannot be read or have another size");
  BeginGroup(app, "Outputs");
  AddName(app, "--out", "FILE", &options->out, "standard output",
          "write the poses into this file, in TUM format");
  AddSwitch(app, "--json", &options->json, "poses, cameras and confidence as JSON");
  AddSwitch(app, "--quiet", &options->quiet, "say nothing but warnings and errors");
  BeginGroup(app, "Model and machine");
  AddName(app, "--model", "FILE", &options->model, "the one that the map names",
          "checkpoint, or its name, that the map was made with");
  AddModelsDir(app, &options->models_dir);
  AddDevice(app, &options->device);
  AddAttention(app, &options->attention);
  AddThreads(app, &options->threads);
}

}  // namespace

ExitCode LocalizeCommand(const LocalizeOptions& options) {
  Console console(options.quiet);
  MapFile map;
  fs::path model_path;
  std::unique_ptr<FrameSource> source;
  try {
    map = ReadMapFile(options.map);
    model_path = ModelOf(options, map);
    source = OpenInput(options, &console);
  } catch (const Error& error) {
    throw UsageError(error.code(), error.what());
  }
  ModelOptions model_options =
      ModelOptionsOf(options.device, map.snapshot.precision, options.threads);
  model_options.log = [&console](const std::string& line) { console.Warn(line); };
  console.Note(fmt::format("loading {}", model_path.string()));
  const Model model = Model::Load(model_path, model_options);
  Session session(model, map.snapshot.height, map.snapshot.width,
                  SessionOf(options, map, &console));
  session.Load(options.map);
  const int64_t stored = session.occupancy().stored_frames;
  if (stored == 0) {
    throw UsageError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds no map yet: its run was saved after {} frames, before "
                    "the first {} had been processed together",
                    options.map, map.snapshot.frames, map.snapshot.options.scale_frames));
  }
  console.Note(fmt::format("map of {} frames, {} of them stored, {}x{} pixels", map.snapshot.frames,
                           stored, map.snapshot.width, map.snapshot.height));
  const Findings findings = LocalizeAll(options, map, source.get(), &session, &console);
  Report(options, map, findings, &console);
  return ExitCode::kOk;
}

Command AddLocalizeCommand(CLI::App* program) {
  CLI::App* app =
      program->add_subcommand("localize", "find the poses of images in the map that a run left");
  const auto options = std::make_shared<LocalizeOptions>();
  AddLocalizeArguments(app, options.get());
  return {app, [options] { return LocalizeCommand(*options); },
          [options] { return options->json; }};
}

}  // namespace lingbot::cli
