#include "cli/run_arguments.h"

namespace lingbot::cli {

void AddRunArguments(CLI::App* app, RunOptions* options) {
  AddInputArguments(app, options);
  AddLiveArguments(app, options);
  AddOutputArguments(app, options);
  AddCloudArguments(app, options);
  AddSnapshotArguments(app, options);
  AddLongArguments(app, options);
  AddStreamArguments(app, options);
  AddMachineArguments(app, options);
  AddMessageArguments(app, options);
}

}  // namespace lingbot::cli
