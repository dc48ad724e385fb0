#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/manual_text.h"
#include "cli/program_help.h"

namespace lingbot::cli {
namespace {

constexpr size_t kTextColumn = 26;

// The words of `text` in lines that begin at column `indent`; the first line is there already, up
// to column `at`.
std::string Wrapped(const std::string& text, size_t at, size_t indent, size_t width) {
  std::string out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (at > indent && at + 1 + word.size() > width) {
      out += fmt::format("\n{:{}}", "", indent);
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out + "\n";
}

std::string OptionText(const OptionHelp& option, size_t width) {
  std::string names = option.alias.empty() ? option.name : option.alias + ", " + option.name;
  if (!option.value.empty() && !option.positional) names += fmt::format(" {}", option.value);
  std::string text = fmt::format("  {}", names);
  const bool fits = text.size() + 2 <= kTextColumn;
  text += fits ? fmt::format("{:{}}", "", kTextColumn - text.size())
               : fmt::format("\n{:{}}", "", kTextColumn);
  return text + Wrapped(DescriptionOf(option), kTextColumn, kTextColumn, width);
}

}  // namespace

std::string DescriptionOf(const OptionHelp& option) {
  std::string text = option.text;
  if (option.required && !option.positional) text += " (required)";
  if (!option.excludes.empty())
    text += fmt::format(" (not with {})", fmt::join(option.excludes, ", "));
  if (!option.fallback.empty()) text += fmt::format(" [{}]", option.fallback);
  return text;
}

std::string HelpText(const ProgramHelp& help, const CommandHelp& command, int columns) {
  const auto width = static_cast<size_t>(columns);
  std::string text = Wrapped(command.text, 0, 0, width);
  text += fmt::format("\nUsage: {}\n", Synopsis(command));
  if (!command.arguments.empty()) text += "\n";
  for (const OptionHelp& argument : command.arguments) text += OptionText(argument, width);
  if (command.name.empty()) {
    text += "\nCommands:\n";
    for (const CommandHelp& each : help.commands) {
      text += fmt::format("  {:<{}}", each.name, kTextColumn - 2) +
              Wrapped(each.text, kTextColumn, kTextColumn, width);
    }
  }
  for (const GroupHelp& group : command.groups) {
    text += fmt::format("\n{}:\n", group.heading);
    for (const OptionHelp& option : group.options) text += OptionText(option, width);
  }
  const std::string examples = ExamplesText(command.name);
  if (!examples.empty()) text += fmt::format("\nExamples:\n{}", examples);
  text += "\n";
  if (!command.name.empty()) {
    return text + Wrapped(
                      "What holds without an option stands in [brackets]. The whole manual: "
                      "lingbot-map help --format markdown, or man lingbot-map.",
                      0, 0, width);
  }
  return text +
         Wrapped("lingbot-map COMMAND --help describes a command. Exit codes: " + ExitCodesText(),
                 0, 0, width);
}

}  // namespace lingbot::cli
