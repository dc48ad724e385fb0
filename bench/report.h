#ifndef LINGBOT_BENCH_REPORT_H_
#define LINGBOT_BENCH_REPORT_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/machine.h"

namespace lingbot {

// How fast one operator ran.
struct RateRow {
  std::string section;    // "matmul", "frame", ...
  std::string operation;  // "783 x 1024 -> 3072"
  std::string variant;    // who computed it: "oneDNN f32", "Linear bf16", ...
  std::string unit;       // "GFLOP/s" or "GB/s"
  double best = 0.0;      // rate of the fastest call
  double median = 0.0;    // rate of the middle one
  double share = 0.0;     // best / best of the yardstick measured in turn; 0 = has none
};
using RateSink = std::function<void(const RateRow&)>;

// One or two lines: processor, cores, threads used, load and memory, matrix library.
std::string MachineText(const Machine& machine, int threads);
nlohmann::json MachineJson(const Machine& machine, int threads);

std::string RateHeading();
std::string RateText(const RateRow& row);
nlohmann::json RateJson(const RateRow& row);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_REPORT_H_
