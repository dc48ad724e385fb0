#include "output/export_run.h"

#include <algorithm>
#include <system_error>

#include "base/check.h"
#include "output/manifest.h"
#include "output/output_file.h"
#include "output/png.h"
#include "output/run_folder.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool IsSameFolder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

// An earlier export's folder may be used again; anything else is somebody's.
void PrepareFolder(const fs::path& out, bool overwrite) {
  CreateFolder(out);
  std::error_code problem;
  const bool empty = fs::is_empty(out, problem);
  Check(!problem, ErrorCode::kFileUnwritable, "cannot look into {}: {}", out.string(),
        problem.message());
  Check(empty || overwrite || fs::exists(out / kExportName, problem), ErrorCode::kFileUnwritable,
        "{} is not empty and not an earlier export; choose another folder, or add --overwrite",
        out.string());
}

// Kinds that the run's folder holds already, as files of every frame.
void DropWhatIsThere(const RunReader& run, std::vector<ExportKind>* kinds,
                     std::vector<ExportedFiles>* there) {
  const auto drop = [&](ExportKind kind, bool held, const char* folder) {
    const auto found = std::find(kinds->begin(), kinds->end(), kind);
    if (!held || found == kinds->end()) return;
    kinds->erase(found);
    there->push_back({kind, {folder}});
  };
  drop(ExportKind::kDepth, run.has_depth(), kDepthFolder);
  drop(ExportKind::kConfidence, run.has_confidence(), kConfidenceFolder);
}

FrameParts PartsFor(const std::vector<ExportKind>& kinds, bool copy_images) {
  FrameParts parts = {false, false, copy_images};
  for (const ExportKind kind : kinds) {
    const ExportFormat& format = FormatOf(kind);
    const bool maps = format.cloud || format.maps;
    parts.depth |= maps && kind != ExportKind::kConfidence;
    parts.confidence |= maps && kind != ExportKind::kDepth;
    parts.rgb |= format.cloud;
  }
  return parts;
}

// The fields of a run's manifest that hold for what is made from it.
Json ExportHead(const RunReader& run) {
  Json json = {{"format", "lingbot-map export"},
               {"format_version", 1},
               {"library", {{"name", "lingbot-map.cpp"}, {"version", LINGBOT_VERSION}}},
               {"run", run.folder().string()},
               {"run_status", run.status()}};
  for (const char* key : {"input", "model", "options", "preprocessing", "timings"}) {
    if (run.manifest().contains(key)) json[key] = run.manifest()[key];
  }
  json["conventions"] = ConventionsJson();
  return json;
}

void WriteManifest(const RunReader& run, const ExportReport& report, bool in_place,
                   const fs::path& out) {
  Json json = in_place ? run.manifest() : ExportHead(run);
  if (in_place && json.empty()) return;  // a manifest that is missing cannot be made up
  if (!in_place) json["frames"] = report.frames;
  if (!report.cloud.is_null()) json["cloud"] = report.cloud;
  Json& exports = json["exports"];
  if (!exports.is_object()) exports = Json::object();
  exports.update(ExportsJson(report.files));
  if (!in_place) json["warnings"] = report.warnings;
  WriteFile(out / (in_place ? kManifestName : kExportName), JsonText(json, 2) + "\n");
}

class FrameCopier {
 public:
  FrameCopier(bool wanted, const fs::path& out) : wanted_(wanted), out_(out / kImagesFolder) {
    if (wanted_) CreateFolder(out_);
  }
  void Copy(const LoadedFrame& frame) const {
    if (!wanted_ || frame.rgb.empty()) return;
    const FrameRecord& record = frame.record;
    const std::string name = fmt::format("{:06}.png", record.index);
    WriteFile(out_ / name, EncodePngRgb(record.rgb, record.height, record.width));
  }

 private:
  bool wanted_;
  fs::path out_;
};

}  // namespace

ExportReport ExportRun(RunReader* run, const ExportRunOptions& options) {
  Check(run->frames() > 0, ErrorCode::kNoInput,
        "{} holds no frame: the run ended before the first one was written",
        run->folder().string());
  const bool in_place = options.out.empty() || IsSameFolder(options.out, run->folder());
  const fs::path out = in_place ? run->folder() : options.out;
  ExportSetOptions set_options = options.set;
  set_options.expected_frames = run->frames();
  std::vector<ExportedFiles> there;
  if (in_place) DropWhatIsThere(*run, &set_options.kinds, &there);
  const auto refers = [](ExportKind kind) { return FormatOf(kind).images; };
  const auto& kinds = set_options.kinds;
  const bool images = std::any_of(kinds.begin(), kinds.end(), refers);
  const FrameParts parts = PartsFor(kinds, images && !in_place);

  ExportSet set(set_options);
  if (!in_place) PrepareFolder(out, options.overwrite);
  const FolderLock lock(out);
  const FrameCopier copier(images && !in_place, out);
  set.Open(out);
  LoadedFrame frame;
  run->Rewind();
  for (int64_t count = 1; run->Next(parts, &frame); ++count) {
    set.AddFrame(frame.record);
    copier.Copy(frame);
    Check(!options.progress || options.progress(count), ErrorCode::kInternal,
          "the export was interrupted after {} of {} frames", count, run->frames());
  }
  ExportReport report = set.Finish();
  report.files.insert(report.files.begin(), there.begin(), there.end());
  if (images && !run->has_images()) {
    report.warnings.emplace_back(
        "the files refer to images that the run did not keep (--no-images); put them into images/");
  }
  WriteManifest(*run, report, in_place, out);
  return report;
}

}  // namespace lingbot
