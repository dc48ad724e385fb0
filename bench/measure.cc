#include "bench/measure.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "bench/statistics.h"

namespace lingbot {

double SecondsOf(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<Timing> MeasureInTurn(const std::vector<std::function<void()>>& calls, double seconds) {
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

Timing Measure(const std::function<void()>& call, double seconds) {
  return MeasureInTurn({call}, seconds).front();
}

}  // namespace lingbot
