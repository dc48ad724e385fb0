#ifndef LINGBOT_CLI_RUN_COMMAND_H_
#define LINGBOT_CLI_RUN_COMMAND_H_

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/run_options.h"

namespace lingbot::cli {

// Maps a folder of images: poses, depth and a point cloud in options.out. Every check that needs no
// work comes before the work; once frames have been computed, a failure or a signal ends the run
// with all of them written and noted in the manifest. Throws Error (UsageError: nothing was done).
ExitCode RunCommand(const RunOptions& options);

Command AddRunCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_COMMAND_H_
