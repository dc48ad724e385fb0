#ifndef LINGBOT_CLI_PROGRAM_HELP_H_
#define LINGBOT_CLI_PROGRAM_HELP_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lingbot::cli {

// The command line as data: --help, the manual and the completions of shells are all made from it.
struct OptionHelp {
  std::string name;      // "--fps", or "INPUT" of an argument that has a place
  std::string alias;     // "-h", or ""
  std::string value;     // "RATE", "crop|pad"; "" of a switch
  std::string fallback;  // what holds without the option; "" = nothing to say
  std::string text;
  std::vector<std::string> excludes;
  bool required = false;
  bool positional = false;
};

struct GroupHelp {
  std::string heading;
  std::vector<OptionHelp> options;
};

struct CommandHelp {
  std::string name;  // "" = the program itself
  std::string text;
  std::vector<OptionHelp> arguments;  // those that have a place
  std::vector<GroupHelp> groups;
};

struct ProgramHelp {
  CommandHelp program;
  std::vector<CommandHelp> commands;
};

ProgramHelp DescribeProgram(const CLI::App& program);

// The command of this name, the program for ""; null if there is none.
const CommandHelp* FindCommand(const ProgramHelp& help, const std::string& name);

// What a shell can offer in place of an option's value.
struct ValueHelp {
  enum class Kind { kNothing, kWords, kFile, kFolder } kind = Kind::kNothing;
  std::vector<std::string> words;  // of kWords
  bool list = false;               // several of them, with commas between
};
ValueHelp ValueOf(const OptionHelp& option);

// "lingbot-map run [OPTIONS] INPUT --out DIR"
std::string Synopsis(const CommandHelp& command);

// What --help prints: lines of at most `width` columns.
std::string HelpText(const ProgramHelp& help, const CommandHelp& command, int width = 80);

// The whole manual.
std::string MarkdownManual(const ProgramHelp& help);
std::string ManPage(const ProgramHelp& help, const std::string& version);

// Scripts that complete the command line.
std::string BashCompletion(const ProgramHelp& help);
std::string ZshCompletion(const ProgramHelp& help);
std::string FishCompletion(const ProgramHelp& help);

// The word that is most like `word`; "" if none is alike enough to be meant.
std::string MostAlike(const std::string& word, const std::vector<std::string>& words);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_PROGRAM_HELP_H_
