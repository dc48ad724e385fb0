#ifndef LINGBOT_CLI_DOCTOR_COMMAND_H_
#define LINGBOT_CLI_DOCTOR_COMMAND_H_

#include <cstdint>
#include <string>

#include "base/option_names.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace lingbot::cli {

struct DoctorOptions {
  std::string model;       // empty: the released network's sizes
  std::string models_dir;  // looked into first for names
  DeviceChoice device;
  uint64_t memory_limit = 0;  // bytes; 0 = what the device has free
  bool json = false;
};

// Describes the machine and what fits into its memory. Throws Error if the model cannot be read.
ExitCode DoctorCommand(const DoctorOptions& options);

Command AddDoctorCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_DOCTOR_COMMAND_H_
