#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/program_streams.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/exit_code.h"
#include "cli/export_command.h"
#include "cli/info_command.h"
#include "cli/localize_command.h"
#include "cli/run_command.h"
#include "cli/stop_signal.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

// In the order of --help.
constexpr Command (*kCommands[])(CLI::App* program) = {
    AddRunCommand,  AddLocalizeCommand, AddExportCommand,
    AddEvalCommand, AddInfoCommand,     AddDoctorCommand,
};

ExitCode ReportFailure(bool json, ExitCode exit_code, const char* code,
                       const std::string& message) {
  if (json) {
    const nlohmann::ordered_json text = {{"status", "failed"},
                                         {"error", {{"code", code}, {"message", message}}}};
    try {
      PrintOut(JsonText(text, 2) + "\n");
    } catch (const Error&) {
      // Standard output is closed; standard error says it.
    }
  }
  PrintError(message);
  return exit_code;
}

ExitCode Execute(const Command& command) {
  const bool json = command.wants_json();
  try {
    return command.run();
  } catch (const UsageError& error) {
    return ReportFailure(json, ExitCode::kUsage, ErrorCodeName(error.code()), error.what());
  } catch (const Error& error) {
    const bool usage = error.code() == ErrorCode::kInvalidArgument;
    return ReportFailure(json, usage ? ExitCode::kUsage : ExitCode::kFailed,
                         ErrorCodeName(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return ReportFailure(json, ExitCode::kFailed, ErrorCodeName(ErrorCode::kOutOfMemory),
                         "out of memory; try a smaller --image-size or --window");
  } catch (const std::exception& error) {
    return ReportFailure(json, ExitCode::kFailed, ErrorCodeName(ErrorCode::kInternal),
                         error.what());
  }
}

// Help and version go to standard output and are a success; the rest is one line.
ExitCode ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream out;
    std::ostringstream unused;
    app.exit(error, out, unused);
    PrintOut(out.str());
    return ExitCode::kOk;
  }
  const auto used = app.get_subcommands();
  PrintError(fmt::format("{}; see lingbot-map {}--help", error.what(),
                         used.empty() ? "" : used.front()->get_name() + " "));
  return ExitCode::kUsage;
}

ExitCode ParseAndExecute(int argc, const char* const* argv) {
  CLI::App app(
      "Streaming 3-D reconstruction: video or images in; camera poses, depth and a point cloud out",
      "lingbot-map");
  app.set_version_flag("--version", "lingbot-map " LINGBOT_VERSION);
  app.require_subcommand(0, 1);  // none is named below, an unknown one by the parser
  app.footer(
      "Exit codes: 0 done; 1 failed while loading, computing or writing; 2 the command line or the "
      "input cannot be used; 130 interrupted, frames so far are written.");
  std::vector<Command> commands;
  for (const auto& add : kCommands) commands.push_back(add(&app));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  std::string names;
  for (const Command& command : commands) {
    if (command.app->parsed()) return Execute(command);
    names += (names.empty() ? "" : ", ") + command.app->get_name();
  }
  PrintError(fmt::format("which command? One of {}; see lingbot-map --help", names));
  return ExitCode::kUsage;
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  PrepareProgramStreams();
  try {
    return static_cast<int>(ParseAndExecute(argc, argv));
  } catch (const std::exception& error) {
    PrintError(error.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}

}  // namespace lingbot::cli
