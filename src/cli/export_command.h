#ifndef LINGBOT_CLI_EXPORT_COMMAND_H_
#define LINGBOT_CLI_EXPORT_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "geometry/point_cloud.h"
#include "output/export_formats.h"
#include "output/mask_source.h"

namespace lingbot::cli {

struct ExportCommandOptions {
  std::string run;
  std::string out;  // empty: the run's own folder
  bool overwrite = false;
  std::vector<ExportKind> kinds;
  PointCloudOptions cloud;
  std::shared_ptr<MaskSource> masks;
  bool quiet = false;
  bool json = false;
};

// Makes files from the folder of a run that ended, failed or was killed. Throws Error.
ExitCode ExportCommand(const ExportCommandOptions& options);

Command AddExportCommand(CLI::App* program);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_EXPORT_COMMAND_H_
