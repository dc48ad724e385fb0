#ifndef LINGBOT_CLI_PROGRAM_H_
#define LINGBOT_CLI_PROGRAM_H_

namespace lingbot::cli {

// The program lingbot-map. Every failure ends as one line on standard error and an exit code
// (exit_code.h); nothing is thrown.
int RunProgram(int argc, const char* const* argv);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_PROGRAM_H_
