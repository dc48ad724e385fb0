#ifndef LINGBOT_EVALUATION_STATISTICS_H_
#define LINGBOT_EVALUATION_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace lingbot {

// Of errors that are not negative.
struct ErrorStatistics {
  int64_t count = 0;
  double rmse = 0;
  double mean = 0;
  double median = 0;     // of an even number the mean of the middle two
  double deviation = 0;  // standard, of the population
  double min = 0;
  double max = 0;
};

// All zero for no errors.
ErrorStatistics Summarise(std::vector<double> errors);

// The q-quantile, q in [0, 1], as the element of rank q * (n - 1) rounded down; of q = 0.5 and an
// even number the mean of the middle two. Infinite values sort last. NaN for no values.
double Quantile(std::vector<double>* values, double q);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_STATISTICS_H_
