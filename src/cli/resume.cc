#include "cli/resume.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <system_error>

#include "base/byte_stream.h"
#include "base/check.h"
#include "cli/exit_code.h"
#include "cli/run_summary.h"
#include "output/manifest.h"
#include "output/run_folder.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Options that may change without changing a number of the result.
constexpr std::array kFreeOptions = {"memory_limit", "skip_bad"};

Json ValueOf(const Json& object, const std::string& key) {
  return object.is_object() && object.contains(key) ? object[key] : Json(nullptr);
}

std::string Shown(const Json& value) { return value.is_null() ? "unknown" : JsonText(value, -1); }

// Throws for the first entry of `own` that `recorded` does not have with the same value.
void CheckEqual(const std::string& what, const Json& recorded, const Json& own) {
  if (own.is_object()) {
    for (const auto& [key, value] : own.items()) {
      CheckEqual(what.empty() ? key : what + "." + key, ValueOf(recorded, key), value);
    }
    return;
  }
  if (recorded == own) return;
  throw UsageError(
      ErrorCode::kInvalidArgument,
      fmt::format("cannot resume: {} was {} in the interrupted run, but now it is {}; repeat its "
                  "command with --resume added, or start anew with --overwrite",
                  what, Shown(recorded), Shown(own)));
}

// `recorded`: a manifest, or its head in a snapshot.
void CheckSameRun(const Json& recorded, const RunInfo& info) {
  Json own = ManifestHead(info);
  for (const char* free : kFreeOptions) own["options"].erase(free);
  CheckEqual("the version", ValueOf(ValueOf(recorded, "library"), "version"),
             own["library"]["version"]);
  CheckEqual("the input", ValueOf(recorded, "input"), own["input"]);
  CheckEqual("the model's weights", ValueOf(ValueOf(recorded, "model"), "weights_hash"),
             own["model"]["weights_hash"]);
  CheckEqual("option", ValueOf(recorded, "options"), own["options"]);
  CheckEqual("preprocessing", ValueOf(recorded, "preprocessing"), own["preprocessing"]);
  CheckEqual("the fingerprint of the input's names and sizes",
             ValueOf(recorded, "input_fingerprint"), ValueOf(own, "input_fingerprint"));
}

RunPosition PositionOf(const Json& note, const fs::path& path) {
  const auto number = [&](const char* key) {
    const Json value = ValueOf(note, key);
    Check(value.is_number_integer() && value >= -1, ErrorCode::kCorruptFile,
          "{} is not a snapshot of a run: it lacks {}", path.string(), key);
    return value.get<int64_t>();
  };
  return {number("given"), number("written"), number("last_source")};
}

// A snapshot's further contents as the writer reads them.
class MoreSource : public ByteSource {
 public:
  MoreSource(const SnapshotRead& read, std::string name) : read_(read), name_(std::move(name)) {}
  void Read(void* data, size_t bytes) override { read_(data, bytes); }
  uint64_t left() const override { return std::numeric_limits<uint64_t>::max(); }
  const std::string& name() const override { return name_; }

 private:
  const SnapshotRead& read_;
  std::string name_;
};

class MoreSink : public ByteSink {
 public:
  explicit MoreSink(const SnapshotWrite& write) : write_(write) {}
  void Write(const void* data, size_t bytes) override { write_(data, bytes); }

 private:
  const SnapshotWrite& write_;
};

}  // namespace

fs::path SnapshotPath(const RunOptions& options) { return fs::path(options.out) / kSnapshotName; }

ResumePlan PlanResume(const RunOptions& options, const RunPlan& plan) {
  ResumePlan resume;
  if (!IsRunFolder(options.out)) return resume;
  if (plan.source->live()) {
    throw UsageError(ErrorCode::kInvalidArgument,
                     fmt::format("cannot resume: {} is live, what it showed meanwhile is gone; "
                                 "start another run with another --out",
                                 InputLabel(options.input)));
  }
  const RunInfo info = RunInfoOf(options, plan);
  const Json manifest = ManifestIn(options.out);
  CheckSameRun(manifest, info);
  if (ValueOf(manifest, "status") == "complete") {
    resume.kind = ResumePlan::Kind::kComplete;
    resume.position.written =
        ValueOf(manifest, "frames").is_number_integer() ? manifest["frames"].get<int64_t>() : 0;
    return resume;
  }
  const fs::path path = SnapshotPath(options);
  std::error_code ignored;
  resume.kind = ResumePlan::Kind::kFromStart;
  if (!fs::exists(path, ignored)) return resume;
  try {
    const SnapshotInfo snapshot = InspectSnapshot(path);
    const Json note = ReadNote(snapshot, path);
    CheckSameRun(note["run"], info);
    resume.position = PositionOf(note, path);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.code(),
                     fmt::format("cannot resume: {}; remove it to have --resume compute everything "
                                 "from the start",
                                 error.what()));
  }
  resume.kind = ResumePlan::Kind::kFromSnapshot;
  return resume;
}

std::string SnapshotNote(const RunInfo& info, const RunPosition& position) {
  return JsonText({{"run", ManifestHead(info)},
                   {"given", position.given},
                   {"written", position.written},
                   {"last_source", position.last_source}},
                  -1);
}

Json ReadNote(const SnapshotInfo& snapshot, const fs::path& path) {
  Json note = Json::parse(snapshot.note, nullptr, /*allow_exceptions=*/false);
  Check(note.is_object() && ValueOf(note, "run").is_object(), ErrorCode::kCorruptFile,
        "{} was not saved by a run of this program", path.string());
  return note;
}

void SaveRun(const fs::path& path, const RunInfo& info, const RunPosition& position,
             const FrameStream& stream, const RunWriter& writer) {
  stream.Save(path, SnapshotNote(info, position), [&](const SnapshotWrite& write) {
    MoreSink sink(write);
    writer.SaveState(sink);
  });
}

void LoadRun(const fs::path& path, FrameStream* stream, RunWriter* writer) {
  stream->Load(path, [&](const SnapshotRead& read) {
    MoreSource source(read, path.string());
    writer->Resume(source);
  });
}

}  // namespace lingbot::cli
