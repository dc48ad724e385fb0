#ifndef LINGBOT_CLI_MANUAL_TEXT_H_
#define LINGBOT_CLI_MANUAL_TEXT_H_

#include <string>
#include <vector>

#include "cli/program_help.h"

namespace lingbot::cli {

// What the manual says beyond the options.

struct Example {
  const char* command;  // of the program
  const char* line;
  const char* text;
};
const std::vector<Example>& Examples();

struct ManualRow {
  const char* name;
  const char* text;
};
const std::vector<ManualRow>& ExitCodes();
const std::vector<ManualRow>& ResultFiles();  // of a run's folder

// "0 done; 1 failed ...".
std::string ExitCodesText();

// The examples of one command as indented lines.
std::string ExamplesText(const std::string& command);

// An option's text with what it excludes and what holds without it.
std::string DescriptionOf(const OptionHelp& option);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MANUAL_TEXT_H_
