#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/program_streams.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/exit_code.h"
#include "cli/export_command.h"
#include "cli/help_command.h"
#include "cli/info_command.h"
#include "cli/localize_command.h"
#include "cli/program_help.h"
#include "cli/run_command.h"
#include "cli/stop_signal.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

// In the order of --help.
constexpr Command (*kCommands[])(CLI::App* program) = {
    AddRunCommand,       //
    AddLocalizeCommand,  //
    AddExportCommand,    //
    AddEvalCommand,      //
    AddInfoCommand,      //
    AddDoctorCommand,    //
    AddHelpCommand,      //
    AddCompletionCommand,
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

// The words of the command line that nothing expects, such as a wrong option.
std::string UnexpectedText(const CLI::App& app, const CommandHelp* command) {
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  const auto dashed = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) {
    return extra.rfind('-', 0) == 0;
  });
  const std::string word = dashed != extras.end() ? *dashed : extras.empty() ? "" : extras.front();
  const ProgramHelp help = DescribeProgram(app);
  std::vector<std::string> known;
  if (command == nullptr || command->name.empty()) {
    for (const CommandHelp& each : help.commands) known.push_back(each.name);
  } else {
    for (const GroupHelp& group : command->groups) {
      for (const OptionHelp& option : group.options) known.push_back(option.name);
    }
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string meant = MostAlike(name, known);
  const std::string ask = meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
  if (command == nullptr || command->name.empty()) {
    return fmt::format("'{}' is no command of lingbot-map{}", word, ask);
  }
  if (name.rfind('-', 0) == 0) {
    return fmt::format("{} has no option {}{}", command->name, name, ask);
  }
  return fmt::format("{} does not expect '{}'; a name with spaces needs quotes", command->name,
                     word);
}

std::string ParseErrorText(const CLI::App& app, const CLI::ParseError& error,
                           const CommandHelp* command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return UnexpectedText(app, command);
  }
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const size_t start = text.find("--");
    const size_t end = std::min(text.find_first_of(" :,", start), text.size());
    const std::string name =
        start == std::string::npos ? "an option" : text.substr(start, end - start);
    const bool missing = text.find("missing") != std::string::npos;
    return name + (missing ? " needs a value" : " is given more than once, or takes no value");
  }
  constexpr std::string_view kConversion = "Could not convert: ";  // only switches are converted
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const size_t start = text.rfind(kConversion, 0) == 0 ? kConversion.size() : 0;
    return text.substr(start, text.find(' ', start) - start) + " takes no value";
  }
  return text;
}

// Help and version go to standard output and are a success; the rest is one line.
ExitCode ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  const auto used = app.get_subcommands();
  const ProgramHelp help = DescribeProgram(app);
  const CommandHelp* command = FindCommand(help, used.empty() ? "" : used.front()->get_name());
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr && command != nullptr) {
    PrintOut(HelpText(help, *command));
    return ExitCode::kOk;
  }
  if (error.get_exit_code() == 0) {
    std::ostringstream out;
    std::ostringstream unused;
    app.exit(error, out, unused);
    PrintOut(out.str());
    return ExitCode::kOk;
  }
  PrintError(fmt::format("{}; see lingbot-map {}--help", ParseErrorText(app, error, command),
                         used.empty() ? "" : used.front()->get_name() + " "));
  return ExitCode::kUsage;
}

ExitCode ParseAndExecute(int argc, const char* const* argv) {
  CLI::App app(
      "Streaming 3-D reconstruction: video or images in; camera poses, depth and a point cloud out",
      "lingbot-map");
  app.set_version_flag("--version", "lingbot-map " LINGBOT_VERSION);
  app.require_subcommand(0, 1);  // none is named below, an unknown one by the parser
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
