#ifndef LINGBOT_BASE_OPTION_NAMES_H_
#define LINGBOT_BASE_OPTION_NAMES_H_

#include <map>
#include <string>

#include "lingbot/options.h"

namespace lingbot {

// Names of options as programs take and print them.

// "auto", "reference", "cpu", "sdpa", "flashinfer", "flashinfer-fa3", "dense"
const std::map<std::string, AttentionBackend>& AttentionBackendNames();
const char* NameOf(AttentionBackend backend);

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kAuto;
  int ordinal = 0;
};

// "auto", "cpu", "cuda" or "cuda:N". Throws kInvalidArgument.
DeviceChoice ParseDevice(const std::string& text);
std::string NameOf(const DeviceChoice& device);  // "cpu", "cuda:0"

}  // namespace lingbot

#endif  // LINGBOT_BASE_OPTION_NAMES_H_
