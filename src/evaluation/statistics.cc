#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lingbot {

double Quantile(std::vector<double>* values, double q) {
  if (values->empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = static_cast<std::ptrdiff_t>(q * static_cast<double>(values->size() - 1));
  const auto at = values->begin() + rank;
  std::nth_element(values->begin(), at, values->end());
  if (q != 0.5 || values->size() % 2 == 1) return *at;
  return 0.5 * (*at + *std::min_element(at + 1, values->end()));
}

ErrorStatistics Summarise(std::vector<double> errors) {
  ErrorStatistics result;
  if (errors.empty()) return result;
  result.count = static_cast<int64_t>(errors.size());
  const auto count = static_cast<double>(errors.size());
  double sum = 0;
  double squares = 0;
  for (const double error : errors) {
    sum += error;
    squares += error * error;
  }
  result.mean = sum / count;
  result.rmse = std::sqrt(squares / count);
  double spread = 0;
  for (const double error : errors) spread += (error - result.mean) * (error - result.mean);
  result.deviation = std::sqrt(spread / count);
  const auto [min, max] = std::minmax_element(errors.begin(), errors.end());
  result.min = *min;
  result.max = *max;
  result.median = Quantile(&errors, 0.5);
  return result;
}

}  // namespace lingbot
