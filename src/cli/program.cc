#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/program_streams.h"
#include "cli/console.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/exit_code.h"
#include "cli/info_command.h"
#include "cli/run_arguments.h"
#include "cli/run_command.h"
#include "cli/stop_signal.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

// What a command does once its arguments are known.
struct Action {
  std::function<ExitCode()> run;
  std::function<bool()> wants_json;
};

Action AddRun(CLI::App* app) {
  const auto options = std::make_shared<RunOptions>();
  AddRunArguments(app, options.get());
  return {[options] { return RunCommand(*options); }, [options] { return options->json; }};
}

Action AddInfo(CLI::App* app) {
  const auto options = std::make_shared<InfoOptions>();
  app->add_option("FILE", options->file, "checkpoint (.pt or .safetensors), or its name")
      ->required();
  app->add_flag("--json", options->json, "as JSON");
  return {[options] { return InfoCommand(*options); }, [options] { return options->json; }};
}

Action AddDoctor(CLI::App* app) {
  const auto options = std::make_shared<DoctorOptions>();
  app->add_option("--model", options->model, "checkpoint, or its name, whose sizes count")
      ->default_str("the released network's sizes");
  app->add_flag("--json", options->json, "as JSON");
  return {[options] { return DoctorCommand(*options); }, [options] { return options->json; }};
}

Action AddEval(CLI::App* app) {
  const auto options = std::make_shared<EvalOptions>();
  AddEvalArguments(app, options.get());
  return {[options] { return EvalCommand(*options); }, [options] { return options->json; }};
}

struct Command {
  const char* name;
  const char* text;
  Action (*add)(CLI::App* app);
};

constexpr Command kCommands[] = {
    {"run", "map a video or a folder of images: poses, depth and a point cloud", AddRun},
    {"eval", "compare a run or a trajectory with ground truth", AddEval},
    {"info", "describe a checkpoint", AddInfo},
    {"doctor", "describe this machine and what fits into its memory", AddDoctor},
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

ExitCode Execute(const Action& action) {
  const bool json = action.wants_json();
  try {
    return action.run();
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
  std::vector<std::pair<const CLI::App*, Action>> actions;
  for (const Command& command : kCommands) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.text);
    actions.emplace_back(subcommand, command.add(subcommand));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  for (const auto& [subcommand, action] : actions) {
    if (subcommand->parsed()) return Execute(action);
  }
  PrintError("which command? run, eval, info or doctor; see lingbot-map --help");
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
