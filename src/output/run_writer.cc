#include "output/run_writer.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "geometry/pose.h"

namespace lingbot {
namespace {

ExportSetOptions ExportsOf(const OutputOptions& options) {
  ExportSetOptions set = {options.exports, options.cloud, options.masks, options.expected_frames};
  if (options.ply) set.kinds.push_back(ExportKind::kPly);
  return set;
}

bool IsPositive(const FrameRecord& record) { return record.height > 0 && record.width > 0; }

}  // namespace

RunWriter::RunWriter(std::filesystem::path folder, const OutputOptions& options,
                     const RunInfo& info, Start start)
    : folder_(std::move(folder)),
      options_(options),
      manifest_(ManifestHead(info)),
      exports_(ExportsOf(options)) {  // bad options before the folder is touched
  CreateFolder(folder_);
  lock_.emplace(folder_);
  if (start == Start::kResume) return;
  PrepareRunFolder(folder_, options.overwrite);
  WriteManifest();
  files_.emplace(folder_, options.frames);
  if (options.trajectory) trajectory_.emplace(folder_ / kTrajectoryName);
  frames_.emplace(folder_ / kFramesName);
  exports_.Open(folder_);
  open_ = true;
}

void RunWriter::CheckRecord(const FrameRecord& record) const {
  Check(open_ && !finished_, ErrorCode::kInvalidArgument, "frame {} was added {}", record.index,
        open_ ? "after the run was finished" : "before the run was resumed");
  Check(record.index > last_index_, ErrorCode::kInvalidArgument,
        "frame {} was added after frame {}; indices must grow from 0 on", record.index,
        last_index_);
  Check(std::isfinite(record.timestamp), ErrorCode::kInvalidArgument,
        "the timestamp of frame {} ({}) is not a finite number", record.index, record.source_name);
  const size_t pixels = IsPositive(record)
                            ? static_cast<size_t>(record.height) * static_cast<size_t>(record.width)
                            : 0;
  const bool wants_colors = options_.ply || ExportSet::WantsCloud(options_.exports);
  const size_t colors =
      wants_colors || options_.frames.images || !record.rgb.empty() ? 3 * pixels : 0;
  Check(pixels > 0 && record.depth.size() == pixels && record.confidence.size() == pixels &&
            record.rgb.size() == colors,
        ErrorCode::kShapeMismatch,
        "frame {} ({}) of {}x{} pixels comes with {} depths, {} confidences and {} colour values",
        record.index, record.source_name, record.width, record.height, record.depth.size(),
        record.confidence.size(), record.rgb.size());
}

void RunWriter::AppendRecords(const FrameRecord& record, const WrittenFrame& written) {
  if (trajectory_) trajectory_->Append(record.timestamp, record.pose);
  if (!IsFinitePose(record.pose)) ++unplaced_frames_;
  frames_->Append(JsonText(FrameJson(record, written), -1));
  if (written.saturated_depths > 0) ++saturated_frames_;
  if (record.keyframe) ++keyframe_count_;
  ++frame_count_;
  last_index_ = record.index;
}

void RunWriter::AddFrame(const FrameRecord& given) {
  CheckRecord(given);
  // Everything is made from the pose as it is written, so that files made later from the folder are
  // the same to the last bit.
  FrameRecord record = given;
  record.pose = WithRigidPose(given.pose, RigidPoseOf(given.pose));
  const WrittenFrame written = files_->Write(record);
  AppendRecords(record, written);
  exports_.AddFrame(record);
  if (frame_count_ == 1) {
    const nlohmann::ordered_json first = FrameJson(record, written);
    manifest_["first_frame"] = {{"intrinsics_resized", first["intrinsics_resized"]},
                                {"intrinsics_original", first["intrinsics_original"]},
                                {"mapping", first["mapping"]}};
  }
  const bool unit_is_news =
      options_.frames.depth_png && !depth_unit_noted_ && files_->depth_png_unit().has_value();
  if (frame_count_ == 1 || unit_is_news) WriteManifest();
}

void RunWriter::WriteManifest() {
  if (files_ && options_.frames.depth_png) {
    const auto unit = files_->depth_png_unit();
    manifest_["depth_png"] = {
        {"unit", unit ? nlohmann::ordered_json(*unit) : nullptr},
        {"meaning", "depth = value * unit; 0 = no valid depth; 65535 = so far or farther"}};
    depth_unit_noted_ = unit.has_value();
  }
  WriteFile(folder_ / kManifestName, JsonText(manifest_, 2) + "\n");
}

void RunWriter::WriteExports(RunReport* report) {
  const ExportReport exported = exports_.Finish();
  report->points = exported.points;
  report->cloud_problem = exported.cloud_problem;
  report->exports = exported.files;
  report->warnings = Warnings();
  report->warnings.insert(report->warnings.end(), exported.warnings.begin(),
                          exported.warnings.end());
  // Only now: what the manifest says of the cloud must be on the disk.
  if (!exported.cloud.is_null()) manifest_["cloud"] = exported.cloud;
  if (options_.ply && exported.cloud_problem.empty()) manifest_["cloud"]["file"] = kPlyName;
  manifest_["exports"] = ExportsJson(exported.files);
}

std::string RunWriter::Problem(const RunReport& report) const {
  if (frame_count_ > 0 && unplaced_frames_ == frame_count_) {
    return fmt::format(
        "none of the {} frames has a finite pose: the weights are damaged or not those of this "
        "network",
        frame_count_);
  }
  return report.cloud_problem.empty() ? "" : "no point cloud was written: " + report.cloud_problem;
}

std::vector<std::string> RunWriter::Warnings() const {
  std::vector<std::string> warnings;
  if (unplaced_frames_ > 0) {
    warnings.push_back(
        fmt::format("{} of {} frames have a pose that is not finite and are missing in {}",
                    unplaced_frames_, frame_count_, kTrajectoryName));
  }
  if (saturated_frames_ > 0) {
    warnings.push_back(fmt::format(
        "the 16-bit depth images of {} of {} frames are clipped at {:.6g}; the exact depths are in "
        "the NPY "
        "files, or set a larger unit",
        saturated_frames_, frame_count_, 65535.0 * files_->depth_png_unit().value_or(0.0)));
  }
  return warnings;
}

RunReport RunWriter::Finish(const RunSummary& summary) {
  Check(open_ && !finished_, ErrorCode::kInvalidArgument, "the run in {} was finished {}",
        folder_.string(), open_ ? "twice" : "before it was resumed");
  RunReport report;
  report.frames = frame_count_;
  report.keyframes = keyframe_count_;
  WriteExports(&report);
  report.problem = Problem(report);
  frames_->Verify();
  if (trajectory_) trajectory_->Verify();
  CheckRunFiles(folder_, frame_count_);
  manifest_["frames"] = frame_count_;
  manifest_["keyframes"] = keyframe_count_;
  manifest_["frame_records"] = kFramesName;
  if (trajectory_) manifest_["trajectory"] = kTrajectoryName;
  if (!summary.timings.is_null()) manifest_["timings"] = summary.timings;
  if (!summary.windows.is_null()) manifest_["windows"] = summary.windows;
  if (!summary.health.is_null()) manifest_["health"] = summary.health;
  manifest_["warnings"] = report.warnings;
  const bool only_problem = summary.error.empty() && !report.problem.empty();
  manifest_["status"] = only_problem ? "failed" : summary.status;
  const std::string& error = only_problem ? report.problem : summary.error;
  if (!error.empty()) manifest_["error"] = error;
  WriteManifest();
  Check(IsRunFolder(folder_), ErrorCode::kFileUnwritable, "{} was written but cannot be read back",
        (folder_ / kManifestName).string());
  finished_ = true;
  return report;
}

void RunWriter::RecordFailure(const std::string& message) noexcept {
  if (!open_) return;
  try {
    manifest_["frames"] = frame_count_;
    manifest_["status"] = "failed";
    manifest_["error"] = message;
    WriteManifest();
  } catch (const std::exception&) {
    // The disk may be what failed; "running" stays in the manifest then.
  }
}

}  // namespace lingbot
