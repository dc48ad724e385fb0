#ifndef LINGBOT_CLI_SNAPSHOT_KEEPER_H_
#define LINGBOT_CLI_SNAPSHOT_KEEPER_H_

#include <chrono>
#include <filesystem>
#include <string>

#include "cli/console.h"
#include "cli/frame_stream.h"
#include "cli/resume.h"
#include "cli/run_options.h"
#include "output/run_writer.h"

namespace lingbot::cli {

// Decides when a run is saved, and does it. A snapshot that cannot be written costs a warning, not
// the run.
class SnapshotKeeper {
 public:
  // All arguments must outlive the object. `saved`: of the snapshot that is there already.
  SnapshotKeeper(const RunOptions& options, RunInfo info, const FrameStream& stream,
                 const RunWriter& writer, const RunPosition& saved, Console* console);

  // To be called when all results of a frame have been written.
  void AfterFrame(const RunPosition& position);
  // The run ends before its input does: saves what would be lost.
  void AtEarlyEnd(const RunPosition& position);
  // All frames are done. Throws if the snapshot was asked for and cannot be written.
  void AtEnd(const RunPosition& position);
  // The folder is complete: a snapshot that nobody asked to keep has no use any more.
  void RemoveUnlessKept();

 private:
  using Clock = std::chrono::steady_clock;

  bool automatic() const { return options_.snapshots == RunOptions::SnapshotKind::kAutomatic; }
  bool Due(const RunPosition& position) const;
  bool HasRoom();
  void Save(const RunPosition& position);
  void TrySave(const RunPosition& position);
  void WarnOnce(const std::string& line);

  const RunOptions& options_;
  RunInfo info_;
  const FrameStream& stream_;
  const RunWriter& writer_;
  Console* console_;
  std::filesystem::path path_;
  RunPosition saved_;
  Clock::time_point last_;  // end of the last attempt
  Clock::duration cost_{};  // of the last attempt
  bool warned_ = false;     // since the last success
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_SNAPSHOT_KEEPER_H_
