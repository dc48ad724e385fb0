#include "cli/stream_policy.h"

#include <algorithm>

#include "base/check.h"

namespace lingbot::cli {
namespace {

constexpr int kDefaultWindowSize = 64;

bool HasWindowOption(const RunOptions& options) {
  const WindowedOptions& windows = options.windows;
  return windows.window_size > 0 || windows.overlap_frames > 0 || windows.overlap_keyframes > 0;
}

// Whether one stream would store more than the network was trained for; the windows that each
// store as much.
std::optional<WindowedOptions> LongWindows(const RunOptions& options, int64_t frames,
                                           int scale_frames, int interval) {
  if (options.keyframe_motion.value_or(0) > 0 || frames - scale_frames <= kTrainedFrames * interval)
    return std::nullopt;
  WindowedOptions windows;
  windows.window_size = scale_frames + static_cast<int>(kTrainedFrames);
  // The first frame that neighbours share is then a keyframe in both.
  windows.overlap_keyframes = 1;
  return windows;
}

void ChooseMode(const RunOptions& options, int64_t frames, int scale_frames, StreamPolicy* policy) {
  const bool interval_given = options.keyframe_interval > 0;
  const int interval = interval_given ? options.keyframe_interval : kLongestAutomaticInterval;
  if (options.mode == RunMode::kStreaming) return;
  if (options.mode == RunMode::kWindowed || HasWindowOption(options)) {
    policy->windows = options.windows;
    if (options.windows.window_size == 0) policy->windows->window_size = kDefaultWindowSize;
    policy->keyframe_interval = interval_given ? interval : 1;
    if (options.mode == RunMode::kAuto) policy->mode_reason = "an option of windows was given";
    return;
  }
  policy->windows = LongWindows(options, frames, scale_frames, interval);
  if (policy->windows) policy->keyframe_interval = interval;
  policy->mode_reason =
      policy->windows ? fmt::format(
                            "at keyframe interval {} one stream of {} would store more than the {} "
                            "frames that the network was trained on",
                            interval, FramesText(frames), kTrainedFrames)
      : frames == 0 ? "the length is unknown"
                    : "one stream stores no more than the network was trained on";
}

void ChooseKeyframes(const RunOptions& options, int64_t frames, StreamPolicy* policy) {
  const bool automatic = options.keyframe_interval == 0 && !options.keyframe_motion;
  const std::string why =
      automatic ? fmt::format(" (automatic for {})", FramesText(frames)) : std::string();
  if (!policy->windows) {
    if (options.keyframe_interval > 0) {
      policy->keyframe_interval = options.keyframe_interval;
    } else if (options.keyframe_motion || frames == 0) {
      policy->keyframe_motion = options.keyframe_motion.value_or(kDefaultKeyframeMotion);
    } else {
      policy->keyframe_interval = AutomaticKeyframeInterval(frames);
    }
  }
  Check(!policy->windows || options.keyframe_motion.value_or(0) == 0, ErrorCode::kInvalidArgument,
        "--keyframe-motion does not go with windowed mode, whose windows are aligned by keyframes "
        "known beforehand; use --keyframe-interval or --mode streaming");
  policy->keyframes =
      policy->keyframe_motion > 0
          ? fmt::format(
                "keyframes by motion: stored is what has moved by {:.3g} % of the image's "
                "width, or comes {} frames after the last one{}",
                100 * policy->keyframe_motion, options.session.keyframe_max_gap, why)
          : fmt::format("keyframe interval {}{}", policy->keyframe_interval, why);
}

}  // namespace

int AutomaticKeyframeInterval(int64_t frames) {
  return static_cast<int>(std::max<int64_t>(1, (frames + kTrainedFrames - 1) / kTrainedFrames));
}

std::string FramesText(int64_t frames) {
  if (frames == 0) return "an unknown number of frames";
  return frames == 1 ? "1 frame" : fmt::format("{} frames", frames);
}

StreamPolicy ChooseStreamPolicy(const RunOptions& options, int64_t frames, int scale_frames) {
  StreamPolicy policy;
  ChooseMode(options, frames, scale_frames, &policy);
  ChooseKeyframes(options, frames, &policy);
  return policy;
}

}  // namespace lingbot::cli
