#ifndef LINGBOT_CLI_NAMES_H_
#define LINGBOT_CLI_NAMES_H_

#include "base/option_names.h"
#include "lingbot/model.h"

namespace lingbot::cli {

// The words that the command line uses.
const char* NameOf(Precision precision);  // "auto", "fp32", "bf16"
using lingbot::NameOf;                    // of attention back ends and devices
// Options for looking at a checkpoint without waking a GPU.
inline ModelOptions OnCpu() {
  ModelOptions options;
  options.device = DeviceKind::kCpu;
  return options;
}
std::string DeviceOf(const ModelInfo& model);  // "cpu", "cuda:0"

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_NAMES_H_
