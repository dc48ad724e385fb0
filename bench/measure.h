#ifndef LINGBOT_BENCH_MEASURE_H_
#define LINGBOT_BENCH_MEASURE_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "bench/statistics.h"

namespace lingbot {

// Seconds of one call. The best is what the machine can do, however busy others keep it; the median
// is what a call took.
struct Timing {
  double best = 0.0;
  double median = 0.0;
};

inline double SecondsOf(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Times several calls in turn, so that a disturbance hits them alike: one round to warm up, then at
// least three rounds and until the rounds have taken `seconds` per call.
inline std::vector<Timing> MeasureInTurn(const std::vector<std::function<void()>>& calls,
                                         double seconds) {
  constexpr size_t kFewestRounds = 3;
  std::vector<std::vector<double>> times(calls.size());
  for (const auto& call : calls) call();
  double spent = 0.0;
  for (size_t round = 0;
       round < kFewestRounds || spent < seconds * static_cast<double>(calls.size()); ++round) {
    for (size_t i = 0; i < calls.size(); ++i) {
      times[i].push_back(SecondsOf(calls[i]));
      spent += times[i].back();
    }
  }
  std::vector<Timing> timings;
  for (const auto& all : times) {
    timings.push_back({*std::min_element(all.begin(), all.end()), Quantile(all, 0.5)});
  }
  return timings;
}

inline Timing Measure(const std::function<void()>& call, double seconds) {
  return MeasureInTurn({call}, seconds).front();
}

}  // namespace lingbot

#endif  // LINGBOT_BENCH_MEASURE_H_
