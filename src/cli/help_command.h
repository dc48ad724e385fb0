#ifndef LINGBOT_CLI_HELP_COMMAND_H_
#define LINGBOT_CLI_HELP_COMMAND_H_

#include "cli/command.h"

namespace lingbot::cli {

// `help`: a command's help, or the whole manual as Markdown or for man.
Command AddHelpCommand(CLI::App* program);

// `completion`: the script that teaches a shell this command line.
Command AddCompletionCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_HELP_COMMAND_H_
