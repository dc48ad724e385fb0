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

const char* NameOf(AttentionBackend attention) {
  switch (attention) {
    case AttentionBackend::kAuto:
      return "auto";
    case AttentionBackend::kReference:
      return "reference";
    case AttentionBackend::kCpu:
      return "cpu";
    case AttentionBackend::kSdpa:
      return "sdpa";
  }
  return "unknown";
}

}  // namespace lingbot::cli
