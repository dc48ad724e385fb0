#ifndef LINGBOT_CLI_RUN_ARGUMENTS_H_
#define LINGBOT_CLI_RUN_ARGUMENTS_H_

#include <CLI/CLI.hpp>

#include "cli/run_options.h"

namespace lingbot::cli {

// Declares the options of `run`; parsing fills `options`, which must outlive `app`. Ranges that
// depend on nothing but the option are checked here, the others by PlanRun.
void AddRunArguments(CLI::App* app, RunOptions* options);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_ARGUMENTS_H_
