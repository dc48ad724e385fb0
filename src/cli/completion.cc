#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/program_help.h"

namespace lingbot::cli {
namespace {

std::vector<OptionHelp> OptionsOf(const CommandHelp& command) {
  std::vector<OptionHelp> options;
  for (const GroupHelp& group : command.groups) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  return options;
}

std::string NamesOf(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : OptionsOf(command)) names.push_back(option.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string CommandNames(const ProgramHelp& help) {
  std::vector<std::string> names;
  for (const CommandHelp& command : help.commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// What bash does at a value.
std::string BashValue(const OptionHelp& option) {
  const ValueHelp value = ValueOf(option);
  switch (value.kind) {
    case ValueHelp::Kind::kFile:
      return "_lingbot_map_files -f";
    case ValueHelp::Kind::kFolder:
      return "_lingbot_map_files -d";
    case ValueHelp::Kind::kWords:
      return fmt::format("_lingbot_map_{} \"{}\"", value.list ? "list" : "words",
                         fmt::join(value.words, " "));
    case ValueHelp::Kind::kNothing:
      break;
  }
  return ":";
}

constexpr const char* kBashStart = R"(# Completion of lingbot-map for bash.
_lingbot_map_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_lingbot_map_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_lingbot_map_list() {
  local before=""
  [[ $cur == *,* ]] && before="${cur%,*},"
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
}
_lingbot_map() {
  local cur="${COMP_WORDS[COMP_CWORD]}" before="" command=""
  ((COMP_CWORD > 0)) && before="${COMP_WORDS[COMP_CWORD - 1]}"
  ((COMP_CWORD > 1)) && command="${COMP_WORDS[1]}"
  if [[ $cur == = ]]; then
    cur=""
  elif [[ $before == = ]]; then
    before="${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  COMPREPLY=()
  case "$command $before" in
)";

// Inside of single quotes.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// In a specification of zsh's _arguments, colons and brackets have a meaning.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshValue(const OptionHelp& option) {
  const ValueHelp value = ValueOf(option);
  switch (value.kind) {
    case ValueHelp::Kind::kFile:
      return "_files";
    case ValueHelp::Kind::kFolder:
      return "_files -/";
    case ValueHelp::Kind::kWords:
      return value.list ? fmt::format("_values -s , word {}", fmt::join(value.words, " "))
                        : fmt::format("({})", fmt::join(value.words, " "));
    case ValueHelp::Kind::kNothing:
      break;
  }
  return " ";
}

constexpr const char* kContinued = " \\\n          ";

std::string ZshCommand(const CommandHelp& command) {
  std::string text = fmt::format("      {})\n        _arguments -S", command.name);
  for (const OptionHelp& option : OptionsOf(command)) {
    std::string spec = fmt::format("{}[{}]", option.name, ZshText(option.text));
    if (!option.value.empty()) {
      spec += fmt::format(":{}:{}", ZshText(option.value), ZshValue(option));
    }
    text += fmt::format("{}{}", kContinued, Quoted(spec));
  }
  for (const OptionHelp& argument : command.arguments) {
    const std::string spec = fmt::format("{}:{}:{}", argument.required ? "" : ":",
                                         ZshText(argument.name), ZshValue(argument));
    text += fmt::format("{}{}", kContinued, Quoted(spec));
  }
  return text + "\n        ;;\n";
}

std::string FishValue(const OptionHelp& option) {
  const ValueHelp value = ValueOf(option);
  switch (value.kind) {
    case ValueHelp::Kind::kFile:
      return " -r -F";
    case ValueHelp::Kind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueHelp::Kind::kWords:
      return value.list ? fmt::format(" -x -a '(__fish_append , {})'", fmt::join(value.words, " "))
                        : fmt::format(" -x -a '{}'", fmt::join(value.words, " "));
    case ValueHelp::Kind::kNothing:
      break;
  }
  return option.value.empty() ? "" : " -x";
}

// The words of an argument that has a place.
std::string FishChoices(const OptionHelp& argument) {
  const ValueHelp value = ValueOf(argument);
  if (value.kind != ValueHelp::Kind::kWords) return "";
  return fmt::format(" -a '{}'", fmt::join(value.words, " "));
}

// fish's single quotes know \' and \\ only.
std::string FishQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace

std::string BashCompletion(const ProgramHelp& help) {
  std::string text = kBashStart;
  for (const CommandHelp& command : help.commands) {
    for (const OptionHelp& option : OptionsOf(command)) {
      if (option.value.empty()) continue;
      text += fmt::format("    \"{} {}\") {} ; return ;;\n", command.name, option.name,
                          BashValue(option));
    }
  }
  text += "  esac\n  case \"$command\" in\n";
  text += fmt::format("    \"\") _lingbot_map_words \"{} {}\" ;;\n", CommandNames(help),
                      NamesOf(help.program));
  for (const CommandHelp& command : help.commands) {
    const std::string value = command.arguments.empty() ? ":" : BashValue(command.arguments[0]);
    text += fmt::format(
        "    \"{}\") if [[ $cur == -* ]]; then _lingbot_map_words \"{}\"; else {} ; fi ;;\n",
        command.name, NamesOf(command), value);
  }
  return text + "  esac\n}\ncomplete -F _lingbot_map lingbot-map\n";
}

std::string ZshCompletion(const ProgramHelp& help) {
  std::string text =
      "#compdef lingbot-map\n# Completion of lingbot-map for zsh.\n_lingbot_map() {\n"
      "  local state line\n  _arguments -C '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandHelp& command : help.commands) {
    text += fmt::format("        {}\n",
                        Quoted(fmt::format("{}:{}", command.name, ZshText(command.text))));
  }
  text +=
      "      )\n      _describe command commands\n      ;;\n    argument)\n      case $line[1] "
      "in\n";
  for (const CommandHelp& command : help.commands) text += ZshCommand(command);
  return text +
         "      esac\n      ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _lingbot-map ]]; then _lingbot_map \"$@\"; "
         "else compdef _lingbot_map lingbot-map; fi\n";
}

std::string FishCompletion(const ProgramHelp& help) {
  std::string text = "# Completion of lingbot-map for fish.\n";
  for (const CommandHelp& command : help.commands) {
    text += fmt::format("complete -c lingbot-map -f -n __fish_use_subcommand -a {} -d {}\n",
                        command.name, FishQuoted(command.text));
  }
  for (const CommandHelp& command : help.commands) {
    const std::string when = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    for (const OptionHelp& argument : command.arguments) {
      const ValueHelp value = ValueOf(argument);
      const bool files = value.kind == ValueHelp::Kind::kFile;
      text += fmt::format("complete -c lingbot-map -n {}{}{}\n", when, files ? " -F" : " -f",
                          files ? "" : FishChoices(argument));
    }
    for (const OptionHelp& option : OptionsOf(command)) {
      text += fmt::format("complete -c lingbot-map -n {} -l {}{} -d {}\n", when,
                          option.name.substr(2), FishValue(option), FishQuoted(option.text));
    }
  }
  return text;
}

}  // namespace lingbot::cli
