#include "base/option_names.h"

#include <charconv>

#include "base/check.h"

namespace lingbot {

const std::map<std::string, AttentionBackend>& AttentionBackendNames() {
  static const std::map<std::string, AttentionBackend> names = {
      {"auto", AttentionBackend::kAuto},
      {"reference", AttentionBackend::kReference},
      {"cpu", AttentionBackend::kCpu},
      {"sdpa", AttentionBackend::kSdpa},
      {"flashinfer", AttentionBackend::kFlashInfer},
      {"flashinfer-fa3", AttentionBackend::kFlashInferFa3},
      {"dense", AttentionBackend::kDense}};
  return names;
}

const char* NameOf(AttentionBackend backend) {
  for (const auto& [name, value] : AttentionBackendNames()) {
    if (value == backend) return name.c_str();
  }
  return "unknown";
}

DeviceChoice ParseDevice(const std::string& text) {
  if (text == "auto") return {};
  if (text == "cpu") return {DeviceKind::kCpu, 0};
  if (text == "cuda") return {DeviceKind::kCuda, 0};
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (text.starts_with(kPrefix)) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kPrefix.size(), end, ordinal);
    if (error == std::errc() && stop == end && ordinal >= 0) return {DeviceKind::kCuda, ordinal};
  }
  Fail(ErrorCode::kInvalidArgument, "device '{}' is none of auto, cpu, cuda and cuda:N", text);
}

std::string NameOf(const DeviceChoice& device) {
  switch (device.kind) {
    case DeviceKind::kAuto:
      return "auto";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      break;
  }
  return fmt::format("cuda:{}", device.ordinal);
}

}  // namespace lingbot
