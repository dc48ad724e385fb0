#ifndef LINGBOT_CLI_LOCALIZE_COMMAND_H_
#define LINGBOT_CLI_LOCALIZE_COMMAND_H_

#include <cstdint>
#include <string>

#include "base/option_names.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace lingbot::cli {

struct LocalizeOptions {
  std::string map;         // snapshot of a run
  std::string input;       // images or a video
  std::string model;       // "" = the one that the snapshot names
  std::string models_dir;  // looked into first for names
  std::string out;         // "" = standard output
  int64_t stride = 1;
  int64_t max_frames = 0;
  double frames_per_second = 0;
  bool skip_bad = false;
  DeviceChoice device;
  AttentionBackend attention = AttentionBackend::kAuto;
  int threads = 0;
  bool json = false;
  bool quiet = false;
};

// Finds the poses of images in the map that a run left, without changing it. Throws UsageError for
// a snapshot or an input that cannot be used, else Error.
ExitCode LocalizeCommand(const LocalizeOptions& options);

Command AddLocalizeCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_LOCALIZE_COMMAND_H_
