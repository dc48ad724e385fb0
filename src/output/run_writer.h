#ifndef LINGBOT_OUTPUT_RUN_WRITER_H_
#define LINGBOT_OUTPUT_RUN_WRITER_H_

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "geometry/point_cloud.h"
#include "output/export_set.h"
#include "output/frame_files.h"
#include "output/frame_record.h"
#include "output/manifest.h"
#include "output/output_file.h"
#include "output/run_folder.h"
#include "output/trajectory.h"

namespace lingbot {

struct OutputOptions {
  FrameFileOptions frames;
  bool trajectory = true;           // trajectory_tum.txt
  bool ply = true;                  // points.ply
  std::vector<ExportKind> exports;  // at the end, besides points.ply
  PointCloudOptions cloud;
  std::shared_ptr<MaskSource> masks;  // of the points; may be null
  bool overwrite = false;  // also write into a folder that holds other things than an earlier run
  int64_t expected_frames = 0;  // 0 = unknown; lets the cloud's memory be taken at the first frame
};

// What is known only at the end of a run; copied into manifest.json. null entries are left out.
struct RunSummary {
  // "complete", or why the run ended early: "failed" or "interrupted", then with a message.
  std::string status = "complete";
  std::string error;
  nlohmann::ordered_json timings;
  nlohmann::ordered_json windows;  // windowed mode: scale and transform of every window
  nlohmann::ordered_json health;   // how well the camera was tracked
};

struct RunReport {
  int64_t frames = 0;
  int64_t keyframes = 0;
  int64_t points = 0;
  std::string
      cloud_problem;  // not empty: a cloud was asked for and has no points; no PLY was written
  std::vector<ExportedFiles> exports;
  // Not empty: the run is worth nothing or lacks what was asked for, though every step succeeded;
  // the manifest says "failed".
  std::string problem;
  std::vector<std::string> warnings;
};

// Writes the results of a run into a folder as they come:
//   manifest.json       from the start, with "status": "running", then "complete",
//                       "failed" or "interrupted"
//   frames.jsonl        one record per frame, appended after the frame's other files
//   trajectory_tum.txt  one line per frame
//   depth/NNNNNN.png, depth/NNNNNN.npy, confidence/NNNNNN.npy, images/NNNNNN.png
//   points.ply, and what OutputOptions::exports asks for, at the end
// A process killed at any moment leaves valid files: per-frame files and the manifest appear by
// renaming, lines are appended whole. All failures throw kFileUnwritable and leave what was written
// before.
class RunWriter {
 public:
  // Prepares the folder (PrepareRunFolder), or with kResume only locks it: Resume must follow.
  // Throws kFileUnwritable, kInvalidArgument.
  enum class Start { kNew, kResume };
  RunWriter(std::filesystem::path folder, const OutputOptions& options, const RunInfo& info,
            Start start = Start::kNew);

  // What a later writer needs to go on after the frames so far: counters, lengths of the line
  // files, the points of the cloud. Save brings the frames' files to the disk first.
  void SaveState(ByteSink& sink) const;
  // Goes on where SaveState was called: takes back the lines, files and cloud of everything that
  // was written after it. Throws kCorruptFile if `source` is damaged or files of earlier frames are
  // missing, kFileUnwritable.
  void Resume(ByteSource& source);

  // Throws kFileUnwritable; kShapeMismatch or kInvalidArgument for a record that contradicts itself
  // or whose index does not grow (then nothing was written).
  void AddFrame(const FrameRecord& record);

  // Writes the cloud of the frames so far and the final manifest, then checks every file on the
  // disk. Also for runs that ended early, see RunSummary. To be called once, after which no frame
  // may follow.
  RunReport Finish(const RunSummary& summary);

  // Notes in the manifest that the run ended with an error, unless it is still to be resumed. Never
  // throws: the error being handled matters more than the note.
  void RecordFailure(const std::string& message) noexcept;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void CheckRecord(const FrameRecord& record) const;
  void AppendRecords(const FrameRecord& record, const WrittenFrame& written);
  nlohmann::ordered_json StateJson() const;
  void NoteResumption();
  void ReplayExports();
  void WriteManifest();
  void WriteExports(RunReport* report);
  std::string Problem(const RunReport& report) const;
  std::vector<std::string> Warnings() const;

  std::filesystem::path folder_;
  OutputOptions options_;
  std::optional<FolderLock> lock_;
  bool open_ = false;  // false: Resume must come first
  nlohmann::ordered_json manifest_;
  std::optional<FrameFiles> files_;
  std::optional<LineFile> frames_;
  std::optional<TumTrajectory> trajectory_;
  ExportSet exports_;
  bool finished_ = false;
  int64_t last_index_ = -1;
  int64_t frame_count_ = 0;
  int64_t keyframe_count_ = 0;
  int64_t unplaced_frames_ = 0;    // pose not finite
  int64_t saturated_frames_ = 0;   // depth image clipped
  bool depth_unit_noted_ = false;  // in the manifest on the disk
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_RUN_WRITER_H_
