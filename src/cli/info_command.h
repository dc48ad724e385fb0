#ifndef LINGBOT_CLI_INFO_COMMAND_H_
#define LINGBOT_CLI_INFO_COMMAND_H_

#include <string>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace lingbot::cli {

struct InfoOptions {
  std::string file;
  std::string models_dir;  // looked into first for names
  bool json = false;
};

// Describes a checkpoint without loading it. Throws Error.
ExitCode InfoCommand(const InfoOptions& options);

Command AddInfoCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_INFO_COMMAND_H_
