#include "media/frame_selector.h"

#include <cmath>

#include "base/check.h"

namespace lingbot {

void ValidateSampling(const Sampling& sampling) {
  Check(std::isfinite(sampling.start) && sampling.start >= 0, ErrorCode::kInvalidArgument,
        "the start must be a time of at least 0 seconds, got {}", sampling.start);
  Check(sampling.end > sampling.start, ErrorCode::kInvalidArgument,
        "the end ({} s) must come after the start ({} s)", sampling.end, sampling.start);
  Check(std::isfinite(sampling.frames_per_second) && sampling.frames_per_second >= 0,
        ErrorCode::kInvalidArgument, "the frame rate must be positive, got {}",
        sampling.frames_per_second);
  Check(sampling.stride >= 1, ErrorCode::kInvalidArgument, "the stride must be at least 1, got {}",
        sampling.stride);
  Check(sampling.max_frames >= 0, ErrorCode::kInvalidArgument,
        "the maximum number of frames must be positive, or 0 for all; got {}", sampling.max_frames);
}

FrameSelector::FrameSelector(const Sampling& sampling, double tick)
    : sampling_(sampling), tolerance_(tick / 2 + 1e-9) {
  ValidateSampling(sampling);
}

FrameSelector::Verdict FrameSelector::Look(double seconds) {
  if (sampling_.max_frames > 0 && taken_ == sampling_.max_frames) return Verdict::kDone;
  if (seconds >= sampling_.end - tolerance_) return Verdict::kDone;
  if (seconds < sampling_.start - tolerance_) return Verdict::kSkip;
  if (sampling_.frames_per_second > 0 && !StartsSlot(seconds)) return Verdict::kSkip;
  if (in_range_++ % sampling_.stride != 0) return Verdict::kSkip;
  if (taken_++ == 0) first_time_ = seconds;
  last_time_ = seconds;
  return Verdict::kTake;
}

bool FrameSelector::StartsSlot(double seconds) {
  if (!origin_) origin_ = seconds;
  const double slot = std::floor((seconds - *origin_ + tolerance_) * sampling_.frames_per_second);
  if (slot < next_slot_) return false;
  next_slot_ = slot + 1;
  return true;
}

double FrameSelector::AchievedRate() const {
  const double span = last_time_ - first_time_;
  return taken_ > 1 && span > 0 ? static_cast<double>(taken_ - 1) / span : 0;
}

}  // namespace lingbot
