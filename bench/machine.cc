#include "bench/machine.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <fstream>

#include "base/system_memory.h"
#include "base/thread_team.h"
#include "ops/linear.h"

namespace lingbot {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double Load() {
  double average = 0.0;
  return getloadavg(&average, 1) == 1 ? average : -1.0;
}

}  // namespace

Machine DescribeMachine() {
  const dnnl_version_t& version = *dnnl_version();
  return {ProcessorName(),
          ThreadTeam(0).size(),
          Load(),
          AvailableMemory(),
          fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch),
          ops::HasNativeBFloat16()};
}

}  // namespace lingbot
