#include <fmt/format.h>

#include <string>

#include "cli/manual_text.h"
#include "cli/program_help.h"

namespace lingbot::cli {
namespace {

constexpr const char* kFilesText =
    "A run leaves in the folder --out (docs/conventions.md describes the formats):";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// In a table a bar would end the cell, inside of code too.
std::string Cell(const std::string& text) { return Replaced(text, "|", "\\|"); }

std::string NameAndValue(const OptionHelp& option) {
  const std::string names = option.alias.empty() ? option.name : option.alias + ", " + option.name;
  return option.value.empty() || option.positional ? names : names + " " + option.value;
}

std::string MarkdownOptions(const std::vector<OptionHelp>& options) {
  std::string text = "| | |\n|---|---|\n";
  for (const OptionHelp& option : options) {
    text += fmt::format("| `{}` | {} |\n", Cell(NameAndValue(option)), Cell(DescriptionOf(option)));
  }
  return text;
}

std::string MarkdownCommand(const CommandHelp& command) {
  std::string text =
      command.name.empty() ? "" : fmt::format("\n### {}\n\n{}\n\n", command.name, command.text);
  if (!command.name.empty()) text += fmt::format("```\n{}\n```\n", Synopsis(command));
  if (!command.arguments.empty()) text += fmt::format("\n{}", MarkdownOptions(command.arguments));
  for (const GroupHelp& group : command.groups) {
    text += fmt::format("\n**{}**\n\n{}", group.heading, MarkdownOptions(group.options));
  }
  return text;
}

std::string MarkdownRows(const std::vector<ManualRow>& rows) {
  std::string text = "| | |\n|---|---|\n";
  for (const ManualRow& row : rows) text += fmt::format("| `{}` | {} |\n", row.name, row.text);
  return text;
}

// Text of a man page: no command at the start of a line, hyphens that can be searched for.
std::string Roff(const std::string& text) {
  std::string out = Replaced(Replaced(text, "\\", "\\e"), "-", "\\-");
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? fmt::format("\\&{}", out) : out;
}

std::string RoffOptions(const std::vector<OptionHelp>& options) {
  std::string text;
  for (const OptionHelp& option : options) {
    const std::string names =
        option.alias.empty() ? option.name : option.alias + ", " + option.name;
    text += fmt::format(".TP\n\\fB{}\\fR", Roff(names));
    if (!option.value.empty() && !option.positional) {
      text += fmt::format(" \\fI{}\\fR", Roff(option.value));
    }
    text += fmt::format("\n{}\n", Roff(DescriptionOf(option)));
  }
  return text;
}

std::string RoffCommand(const CommandHelp& command) {
  std::string text;
  if (!command.name.empty()) {
    text = fmt::format(".SS {}\n{}.\n.PP\n\\fB{}\\fR\n", Roff(command.name), Roff(command.text),
                       Roff(Synopsis(command)));
  }
  text += RoffOptions(command.arguments);
  for (const GroupHelp& group : command.groups) {
    text += fmt::format(".PP\n\\fI{}\\fR\n", Roff(group.heading)) + RoffOptions(group.options);
  }
  return text;
}

std::string RoffRows(const std::vector<ManualRow>& rows) {
  std::string text;
  for (const ManualRow& row : rows) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(row.name), Roff(row.text));
  }
  return text;
}

}  // namespace

std::string MarkdownManual(const ProgramHelp& help) {
  std::string text = fmt::format(
      "# lingbot-map(1)\n\nMade by `scripts/cli_docs.sh` from the program itself; do not edit.\n\n"
      "## Name\n\nlingbot-map - {}\n\n## Synopsis\n\n```\n{}\n",
      help.program.text, Synopsis(help.program));
  for (const CommandHelp& command : help.commands) text += Synopsis(command) + "\n";
  text += "```\n\n## Commands\n\nWhat holds without an option stands in [brackets].\n";
  for (const CommandHelp& command : help.commands) text += MarkdownCommand(command);
  text += fmt::format("\n## Options of the program\n{}", MarkdownCommand(help.program));
  text += fmt::format("\n## Files\n\n{}\n\n{}", kFilesText, MarkdownRows(ResultFiles()));
  text += fmt::format("\n## Exit status\n\n{}\n## Examples\n", MarkdownRows(ExitCodes()));
  for (const Example& example : Examples()) {
    text += fmt::format("\n{}:\n\n```\n{}\n```\n", example.text, example.line);
  }
  return text;
}

std::string ManPage(const ProgramHelp& help, const std::string& version) {
  std::string text = fmt::format(
      ".TH LINGBOT\\-MAP 1 \"\" \"lingbot\\-map {}\" \"User Commands\"\n.SH NAME\nlingbot\\-map "
      "\\- {}\n"
      ".SH SYNOPSIS\n.nf\n\\fB{}\\fR\n",
      Roff(version), Roff(help.program.text), Roff(Synopsis(help.program)));
  for (const CommandHelp& command : help.commands) {
    text += fmt::format("\\fB{}\\fR\n", Roff(Synopsis(command)));
  }
  text += ".fi\n.SH COMMANDS\nWhat holds without an option stands in [brackets].\n";
  for (const CommandHelp& command : help.commands) text += RoffCommand(command);
  text += fmt::format(".SH OPTIONS\n{}", RoffCommand(help.program));
  text += fmt::format(".SH FILES\n{}\n", Roff(kFilesText)) + RoffRows(ResultFiles());
  text += fmt::format(".SH EXIT STATUS\n{}.SH EXAMPLES\n", RoffRows(ExitCodes()));
  for (const Example& example : Examples()) {
    text += fmt::format(".TP\n{}:\n.nf\n{}\n.fi\n", Roff(example.text), Roff(example.line));
  }
  return text;
}

}  // namespace lingbot::cli
