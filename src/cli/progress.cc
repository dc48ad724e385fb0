#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace lingbot::cli {

std::string FormatDuration(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  const int64_t hours = whole / 3600;
  const int64_t minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string ProgressLine(int64_t done, int64_t total, double elapsed,
                         const CacheOccupancy& occupancy, int64_t before) {
  const bool known = done > before && elapsed > 0;
  const double rate = known ? static_cast<double>(done - before) / elapsed : 0;
  std::string text = fmt::format("frame {}", done);
  if (total > 0) text += fmt::format("/{}", total);
  text += known ? fmt::format("  {:.3g} frames/s", rate) : "  - frames/s";
  if (total > 0) {
    const double left = static_cast<double>(total - done);
    text += "  ETA " + (known ? FormatDuration(left / rate) : "-");
  }
  return text + fmt::format("  cache {} + {} pages, {} stored frames, {} specials",
                            occupancy.scale_pages, occupancy.window_pages, occupancy.stored_frames,
                            occupancy.special_tokens);
}

std::string HealthText(const TrackingHealth& health) {
  std::string text;
  if (health.step()) text += fmt::format("  step {:.2g}x", *health.step());
  if (health.confidence()) text += fmt::format("  confidence {:.2g}x", *health.confidence());
  return text;
}

void Progress::Update(int64_t done, int64_t total, const CacheOccupancy& occupancy,
                      const TrackingHealth& health) {
  const Clock::time_point now = Clock::now();
  const auto pause =
      console_->is_terminal() ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (shown_ && (done < total || total == 0) && now - last_ < pause) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  console_->Progress(ProgressLine(done, total, elapsed, occupancy, before_) + HealthText(health));
}

}  // namespace lingbot::cli
