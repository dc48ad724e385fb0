#include "cli/names.h"

namespace lingbot::cli {

const char* NameOf(Precision precision) {
  switch (precision) {
    case Precision::kAuto:
      return "auto";
    case Precision::kFloat32:
      return "fp32";
    case Precision::kBFloat16:
      return "bf16";
  }
  return "unknown";
}

std::string DeviceOf(const ModelInfo& model) {
  return NameOf(DeviceChoice{model.device, model.device_ordinal});
}

}  // namespace lingbot::cli
