#include "bench/stage_times.h"

#include <vector>

#include "bench/statistics.h"

namespace lingbot {

StageTimes QuantileOf(std::span<const StageTimes> times, double quantile) {
  StageTimes result;
  for (const auto& [name, field] : kStageFields) {
    std::vector<double> values;
    for (const StageTimes& one : times) values.push_back(one.*field);
    result.*field = Quantile(std::move(values), quantile);
  }
  return result;
}

}  // namespace lingbot
