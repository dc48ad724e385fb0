#include "bench/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/system_memory.h"

namespace lingbot {

std::string MachineText(const Machine& machine, int threads) {
  return fmt::format(
      "machine: {}, {} cores, {} free, load {:.1f}\n"
      "library: {}, bf16 products {}; {} threads\n",
      machine.processor, machine.cores, FormatBytes(machine.free_memory), machine.load,
      machine.matrix_library, machine.native_bf16 ? "native" : "not native", threads);
}

nlohmann::json MachineJson(const Machine& machine, int threads) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"threads", threads},
          {"load", machine.load},
          {"free_memory", machine.free_memory},
          {"matrix_library", machine.matrix_library},
          {"native_bf16", machine.native_bf16}};
}

std::string RateHeading() {
  return fmt::format("{:<10} {:<34} {:<14} {:>9} {:>9} {:<8} {:>7}\n", "section", "operation", "by",
                     "best", "median", "unit", "of raw");
}

std::string RateText(const RateRow& row) {
  return fmt::format("{:<10} {:<34} {:<14} {:>9.1f} {:>9.1f} {:<8} {:>7}\n", row.section,
                     row.operation, row.variant, row.best, row.median, row.unit,
                     row.share > 0.0 ? fmt::format("{:.1f} %", 100.0 * row.share) : "");
}

nlohmann::json RateJson(const RateRow& row) {
  nlohmann::json json = {{"section", row.section}, {"operation", row.operation},
                         {"by", row.variant},      {"best", row.best},
                         {"median", row.median},   {"unit", row.unit}};
  if (row.share > 0.0) json["share_of_raw"] = row.share;
  return json;
}

}  // namespace lingbot
