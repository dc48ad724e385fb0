#include "cli/program_help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace lingbot::cli {
namespace {

OptionHelp Describe(const CLI::Option& option) {
  OptionHelp help;
  help.positional = option.get_positional();
  help.name = option.get_lnames().empty() ? option.get_name(/*positional=*/true)
                                          : "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) help.alias = "-" + option.get_snames().front();
  const bool is_switch = option.get_items_expected_max() == 0;
  if (!is_switch) help.value = option.get_type_name();
  if (!is_switch) help.fallback = option.get_default_str();
  help.text = option.get_description();
  help.required = option.get_required();
  for (const CLI::Option* other : option.get_excludes()) {
    help.excludes.push_back(other->get_single_name().size() > 1 ? "--" + other->get_single_name()
                                                                : other->get_name());
  }
  std::sort(help.excludes.begin(), help.excludes.end());
  return help;
}

// The help option comes first in every command and is asked for least: it goes to the end.
CommandHelp DescribeCommand(const CLI::App& app) {
  CommandHelp help;
  help.name = app.get_parent() == nullptr ? "" : app.get_name();
  help.text = app.get_description();
  std::vector<OptionHelp> last;
  for (const CLI::Option* option : app.get_options()) {
    const OptionHelp described = Describe(*option);
    const bool general = option == app.get_help_ptr() || described.name == "--version";
    if (option->get_positional()) {
      help.arguments.push_back(described);
    } else if (general) {
      last.push_back(described);
    } else if (!option->get_group().empty()) {
      const auto same = std::find_if(
          help.groups.begin(), help.groups.end(),
          [&](const GroupHelp& group) { return group.heading == option->get_group(); });
      if (same == help.groups.end()) {
        help.groups.push_back({option->get_group(), {described}});
      } else {
        same->options.push_back(described);
      }
    }
  }
  if (help.groups.empty()) help.groups.push_back({"Options", {}});
  auto& end = help.groups.back().options;
  end.insert(end.end(), last.begin(), last.end());
  return help;
}

// Levenshtein's distance.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace

ProgramHelp DescribeProgram(const CLI::App& program) {
  ProgramHelp help;
  help.program = DescribeCommand(program);
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) help.commands.push_back(DescribeCommand(*command));
  }
  return help;
}

const CommandHelp* FindCommand(const ProgramHelp& help, const std::string& name) {
  if (name.empty()) return &help.program;
  const auto found = std::find_if(help.commands.begin(), help.commands.end(),
                                  [&](const CommandHelp& command) { return command.name == name; });
  return found == help.commands.end() ? nullptr : &*found;
}

ValueHelp ValueOf(const OptionHelp& option) {
  constexpr const char* kList = ",...";
  std::string value = option.value;
  ValueHelp help;
  const size_t end = value.rfind(kList);
  help.list = end != std::string::npos && end + 4 == value.size();
  if (help.list) value.resize(end);
  if (value == "DIR") {
    help.kind = ValueHelp::Kind::kFolder;
  } else if (value == "FILE" || value == "PATH" || value == "INPUT" || value == "RUN") {
    help.kind = ValueHelp::Kind::kFile;
  } else if (value.find('|') != std::string::npos) {
    help.kind = ValueHelp::Kind::kWords;
    for (const std::string& word : Split(value, '|')) {
      if (word == "N") continue;  // a number stands among the words
      help.words.push_back(word.substr(0, word.find('[')));
    }
  }
  return help;
}

std::string Synopsis(const CommandHelp& command) {
  std::string text = command.name.empty() ? "lingbot-map [OPTIONS] COMMAND" : "lingbot-map ";
  text += command.name;
  for (const OptionHelp& argument : command.arguments) {
    text +=
        argument.required ? fmt::format(" {}", argument.name) : fmt::format(" [{}]", argument.name);
  }
  for (const GroupHelp& group : command.groups) {
    for (const OptionHelp& option : group.options) {
      if (option.required) text += fmt::format(" {} {}", option.name, option.value);
    }
  }
  return text + (command.name.empty() ? "" : " [OPTIONS]");
}

std::string MostAlike(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& other : words) {
    const size_t distance = Distance(word, other);
    if (distance < least) {
      least = distance;
      best = other;
    }
  }
  return best;
}

}  // namespace lingbot::cli
