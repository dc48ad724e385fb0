#include "cli/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace lingbot::cli {
namespace {

// Over the values that are finite and positive; 0 if there are none.
double MeanOf(std::span<const float> values) {
  double sum = 0;
  int64_t count = 0;
  for (const float value : values) {
    if (!std::isfinite(value) || value <= 0) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

const char* NameOf(TrackingHealth::Problem problem) {
  switch (problem) {
    case TrackingHealth::Problem::kNotFinite:
      return "poses are not finite";
    case TrackingHealth::Problem::kLeap:
      return "the camera leaps";
    case TrackingHealth::Problem::kConfidence:
      return "the confidence has collapsed";
    case TrackingHealth::Problem::kNone:
      break;
  }
  return "all is well";
}

}  // namespace

HealthSample HealthSampleOf(const FrameResult& result) {
  HealthSample sample;
  sample.finite = std::all_of(result.pose.begin(), result.pose.end(),
                              [](float value) { return std::isfinite(value); });
  std::copy_n(result.pose.begin(), 3, sample.center.begin());
  sample.depth = MeanOf(result.depth);
  sample.confidence = std::max(0.0, MeanOf(result.confidence) - 1);
  return sample;
}

void TrackingHealth::Recent::Add(double value) {
  values_[next_] = value;
  next_ = (next_ + 1) % memory_;
  count_ = std::min(count_ + 1, memory_);
}

double TrackingHealth::Recent::Median() const {
  std::array<double, kMemory> sorted = values_;
  const auto middle = sorted.begin() + count_ / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count_);
  return *middle;
}

TrackingHealth::Problem TrackingHealth::Judge(const HealthSample& sample) {
  step_ = confidence_ = std::nullopt;
  if (!sample.finite) return Problem::kNotFinite;
  Problem problem = Problem::kNone;
  if (confidences_.ready() && confidences_.Median() > kUnsure) {
    confidence_ = sample.confidence / confidences_.Median();
    if (*confidence_ < kCollapse) problem = Problem::kConfidence;
  }
  confidences_.Add(sample.confidence);
  if (last_) {
    const double step =
        std::hypot(sample.center[0] - last_->center[0], sample.center[1] - last_->center[1],
                   sample.center[2] - last_->center[2]);
    const double median = steps_.ready() ? steps_.Median() : 0;
    if (median > 0) step_ = step / median;
    const bool small = step <= kSmallStep * std::max(sample.depth, last_->depth);
    if (steps_.ready() && !small && step > kLeap * median) problem = Problem::kLeap;
    steps_.Add(step);
  }
  last_ = sample;
  return problem;
}

void TrackingHealth::Warn(int64_t index, Problem problem) {
  summary_.degraded_at = index;
  warning_ = fmt::format(
      "tracking has degraded since frame {} ({}): poses and points from there on may be wrong. A "
      "cut, darkness or fast motion does this: split the input there (--start, --end), use more "
      "frames a second, or a larger --window",
      index, NameOf(problem));
}

TrackingHealth::Problem TrackingHealth::Add(int64_t index, const HealthSample& sample) {
  const Problem problem = Judge(sample);
  ++summary_.frames;
  summary_.not_finite += problem == Problem::kNotFinite;
  summary_.leaps += problem == Problem::kLeap;
  summary_.low_confidence += problem == Problem::kConfidence;
  if (step_) summary_.largest_step = std::max(summary_.largest_step, *step_);
  if (confidence_) {
    summary_.lowest_confidence = std::min(summary_.lowest_confidence, *confidence_);
  }
  bad_ = problem == Problem::kNone ? 0 : bad_ + 1;
  if (bad_ == kBad && warning_.empty()) Warn(index - kBad + 1, problem);
  return problem;
}

}  // namespace lingbot::cli
