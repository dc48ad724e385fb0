#include <string>

#include "cli/arguments.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {

void AddSnapshotArguments(CLI::App* app, RunOptions* options) {
  using Kind = RunOptions::SnapshotKind;
  BeginGroup(app, "Interrupted runs");
  AddSwitch(app, "--resume", &options->resume,
            "go on with a run that was interrupted: the same command, with this added")
      ->excludes(app->get_option("--overwrite"));
  AddText(
      app, "--snapshot-every", "N|auto|off",
      [options](const std::string& word) {
        options->snapshots = word == "auto"  ? Kind::kAutomatic
                             : word == "off" ? Kind::kNever
                                             : Kind::kEveryFrames;
        if (options->snapshots == Kind::kEveryFrames) {
          options->snapshot_every = ReadCount(word, 1, kMostCount);
        }
      },
      "auto",
      "save the run every N frames, and when it ends early, so that --resume goes on from there; "
      "auto: every few minutes");
  AddSwitch(app, "--keep-snapshot", &options->keep_snapshot,
            "leave a snapshot of the finished map, for localize");
}

}  // namespace lingbot::cli
