#ifndef LINGBOT_CLI_RUN_ARGUMENTS_H_
#define LINGBOT_CLI_RUN_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/run_options.h"

namespace lingbot::cli {

// Declares the options of `run`; parsing fills `options`, which must outlive `app`. Ranges that
// depend on nothing but the option are checked here, the others by PlanRun.
void AddRunArguments(CLI::App* app, RunOptions* options);

// What decides which pixels become points, under a heading of its own; for `export` too.
void AddPointArguments(CLI::App* app, PointCloudOptions* cloud,
                       std::shared_ptr<MaskSource>* masks);  // arguments_output.cc

// Its parts, in the order of --help: one heading each.
void AddInputArguments(CLI::App* app, RunOptions* options);     // arguments_input.cc
void AddLiveArguments(CLI::App* app, RunOptions* options);      // arguments_input.cc
void AddOutputArguments(CLI::App* app, RunOptions* options);    // arguments_output.cc
void AddCloudArguments(CLI::App* app, RunOptions* options);     // arguments_output.cc
void AddSnapshotArguments(CLI::App* app, RunOptions* options);  // arguments_snapshot.cc
void AddLongArguments(CLI::App* app, RunOptions* options);      // arguments_stream.cc
void AddStreamArguments(CLI::App* app, RunOptions* options);    // arguments_stream.cc
void AddMachineArguments(CLI::App* app, RunOptions* options);   // arguments_machine.cc
void AddMessageArguments(CLI::App* app, RunOptions* options);   // arguments_output.cc

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_ARGUMENTS_H_
