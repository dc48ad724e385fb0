#ifndef LINGBOT_BENCH_MEASURE_H_
#define LINGBOT_BENCH_MEASURE_H_

#include <functional>
#include <vector>

namespace lingbot {

// Seconds of one call. The best is what the machine can do, however busy others keep it; the median
// is what a call took.
struct Timing {
  double best = 0.0;
  double median = 0.0;
};

double SecondsOf(const std::function<void()>& call);

// Seconds that all threads of this process have computed so far: hardly disturbed by other
// processes, but a thread that waits actively for another counts.
double ProcessorSeconds();

// Times several calls in turn, so that a disturbance hits them alike: one round to warm up, then at
// least three rounds and until the rounds have taken `seconds` per call.
std::vector<Timing> MeasureInTurn(const std::vector<std::function<void()>>& calls, double seconds);

Timing Measure(const std::function<void()>& call, double seconds);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_MEASURE_H_
