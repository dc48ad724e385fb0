#ifndef LINGBOT_CLI_COMMAND_H_
#define LINGBOT_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/exit_code.h"

namespace lingbot::cli {

// A command of the program, added to it with all its options. The functions that make one are
// AddXCommand(CLI::App* program), each beside its command; program.cc lists them.
struct Command {
  CLI::App* app = nullptr;
  std::function<ExitCode()> run;     // once the arguments are known; throws Error
  std::function<bool()> wants_json;  // then failures are JSON on standard output too
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_COMMAND_H_
