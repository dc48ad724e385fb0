#ifndef LINGBOT_CLI_DOCTOR_COMMAND_H_
#define LINGBOT_CLI_DOCTOR_COMMAND_H_

#include <string>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace lingbot::cli {

struct DoctorOptions {
  std::string model;  // empty: the released network's sizes
  bool json = false;
};

// Describes the machine and what fits into its memory. Throws Error if the model cannot be read.
ExitCode DoctorCommand(const DoctorOptions& options);

Command AddDoctorCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_DOCTOR_COMMAND_H_
