#ifndef LINGBOT_CLI_PROGRESS_H_
#define LINGBOT_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/console.h"
#include "cli/health.h"
#include "lingbot/session.h"

namespace lingbot::cli {

// "4:05", "1:02:03".
std::string FormatDuration(double seconds);

// Of an unknown `total` (0) without it and the time left:
// "frame 12/240  1.3 frames/s  ETA 2:55  cache 8 + 4 pages, 12 stored frames, 72 specials"
// Of the `done` frames, `before` took no part of the time.
std::string ProgressLine(int64_t done, int64_t total, double elapsed,
                         const CacheOccupancy& occupancy, int64_t before = 0);

// "  step 1.1x  confidence 0.98x": of the last frame, against the median of those before it; what
// is not known is left out.
std::string HealthText(const TrackingHealth& health);

// Decides when a progress line is due: ten times a second on a terminal, else every five seconds,
// and at the first and the last frame.
class Progress {
 public:
  explicit Progress(Console* console) : console_(console) {}

  // `done`: frames of an earlier process.
  void Start(int64_t done = 0) {
    start_ = last_ = Clock::now();
    before_ = done;
  }
  void Update(int64_t done, int64_t total, const CacheOccupancy& occupancy,
              const TrackingHealth& health);

 private:
  using Clock = std::chrono::steady_clock;

  Console* console_;
  Clock::time_point start_;
  Clock::time_point last_;
  int64_t before_ = 0;
  bool shown_ = false;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_PROGRESS_H_
