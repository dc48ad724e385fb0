#ifndef LINGBOT_BENCH_OPS_BENCH_H_
#define LINGBOT_BENCH_OPS_BENCH_H_

#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/report.h"

namespace lingbot {

struct OpsOptions {
  int threads = 0;                    // 0 = all cores
  double seconds = 0.3;               // of measuring, per operator
  std::vector<std::string> sections;  // empty = all: SectionNames()
};

std::vector<std::string> SectionNames();

// Measures single operators at the released network's sizes, 518x294 pixels if nothing else is
// said, and hands each rate to `sink` as soon as it is known. Throws kInvalidArgument for a section
// that does not exist.
void BenchOps(const OpsOptions& options, const RateSink& sink);

// The sections.
void BenchPeak(const OpsOptions& options, const RateSink& sink);
void BenchMatmul(const OpsOptions& options, const RateSink& sink);
void BenchFrame(const OpsOptions& options, const RateSink& sink);
void BenchAttention(const OpsOptions& options, const RateSink& sink);
void BenchConv(const OpsOptions& options, const RateSink& sink);
void BenchMemory(const OpsOptions& options, const RateSink& sink);

// Fills in the rates of `row` from `amount` (operations or bytes) per call and its time.
RateRow WithRate(RateRow row, double amount, const Timing& timing);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_OPS_BENCH_H_
