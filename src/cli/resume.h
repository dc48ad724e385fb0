#ifndef LINGBOT_CLI_RESUME_H_
#define LINGBOT_CLI_RESUME_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/console.h"
#include "cli/frame_stream.h"
#include "cli/run_options.h"
#include "cli/run_plan.h"
#include "lingbot/snapshot.h"
#include "output/run_writer.h"

namespace lingbot::cli {

// How far a run had come when it was saved.
struct RunPosition {
  int64_t given = 0;         // frames that the session had taken
  int64_t written = 0;       // frames whose results were written
  int64_t last_source = -1;  // source_index of the last of these; -1 = none yet
};

// What `--resume` can do in the output folder.
struct ResumePlan {
  enum class Kind { kNothingThere, kComplete, kFromStart, kFromSnapshot };
  Kind kind = Kind::kNothingThere;
  RunPosition position;  // of the snapshot
};

std::filesystem::path SnapshotPath(const RunOptions& options);

// Looks at the folder's manifest and snapshot. Throws UsageError, naming what differs, if they are
// of another input, model or options; for a live input; for a snapshot that cannot be read.
ResumePlan PlanResume(const RunOptions& options, const RunPlan& plan);

// What a run's snapshot says beside the session: its manifest's head and the position.
std::string SnapshotNote(const RunInfo& info, const RunPosition& position);
// The same as JSON; throws kCorruptFile if a snapshot has another note or none.
nlohmann::ordered_json ReadNote(const SnapshotInfo& snapshot, const std::filesystem::path& path);

// Bring a run into a file and back: the session, the position, and what the writer needs.
void SaveRun(const std::filesystem::path& path, const RunInfo& info, const RunPosition& position,
             const FrameStream& stream, const RunWriter& writer);
void LoadRun(const std::filesystem::path& path, FrameStream* stream, RunWriter* writer);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RESUME_H_
