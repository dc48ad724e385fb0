#include "cli/help_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/program_help.h"

namespace lingbot::cli {
namespace {

enum class ManualFormat { kText, kMarkdown, kMan };

using Completion = std::string (*)(const ProgramHelp& help);

struct HelpOptions {
  std::string command;
  ManualFormat format = ManualFormat::kText;
};

ExitCode PrintHelp(const ProgramHelp& help, const HelpOptions& options) {
  const CommandHelp* command = FindCommand(help, options.command);
  Check(command != nullptr, ErrorCode::kInvalidArgument,
        "'{}' is no command; see lingbot-map --help", options.command);
  switch (options.format) {
    case ManualFormat::kText:
      PrintOut(HelpText(help, *command));
      break;
    case ManualFormat::kMarkdown:
      PrintOut(MarkdownManual(help));
      break;
    case ManualFormat::kMan:
      PrintOut(ManPage(help, LINGBOT_VERSION));
      break;
  }
  return ExitCode::kOk;
}

bool Never() { return false; }

}  // namespace

Command AddHelpCommand(CLI::App* program) {
  CLI::App* app = program->add_subcommand("help", "describe a command, or print the manual");
  const auto options = std::make_shared<HelpOptions>();
  AddName(app, "COMMAND", "COMMAND", &options->command, "", "the command to describe");
  AddChoice<ManualFormat>(app, "--format", &options->format,
                          {{"text", ManualFormat::kText},
                           {"markdown", ManualFormat::kMarkdown},
                           {"man", ManualFormat::kMan}},
                          "text", "markdown and man: the manual of all commands");
  return {app, [program, options] { return PrintHelp(DescribeProgram(*program), *options); },
          Never};
}

Command AddCompletionCommand(CLI::App* program) {
  CLI::App* app = program->add_subcommand("completion", "print the completion script of a shell");
  const auto shell = std::make_shared<Completion>(nullptr);
  AddChoice<Completion>(
      app, "SHELL", shell.get(),
      {{"bash", BashCompletion}, {"zsh", ZshCompletion}, {"fish", FishCompletion}}, "",
      "whose script")
      ->required();
  return {app,
          [program, shell] {
            PrintOut((*shell)(DescribeProgram(*program)));
            return ExitCode::kOk;
          },
          Never};
}

}  // namespace lingbot::cli
