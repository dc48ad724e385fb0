#ifndef LINGBOT_CLI_STREAM_POLICY_H_
#define LINGBOT_CLI_STREAM_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cli/run_options.h"

namespace lingbot::cli {

// The stored frames of the longest streams that the network saw in training.
constexpr int64_t kTrainedFrames = 320;

// Keyframes further apart than this share too little of the scene: 0.33 s of a video at 30 frames a
// second.
constexpr int kLongestAutomaticInterval = 10;

// Of --keyframe-motion for inputs of unknown length: docs/benchmarks.md has the figures.
constexpr double kDefaultKeyframeMotion = 0.05;

// How a run goes through its frames.
struct StreamPolicy {
  std::optional<WindowedOptions> windows;  // windowed mode
  int keyframe_interval = 1;
  double keyframe_motion = 0;  // > 0: by motion, not by the interval
  std::string mode_reason;     // why this mode, where the user left it open
  std::string keyframes;       // what decides about keyframes, for people
};

// Every `interval`-th frame is stored: 1 up to 320 frames (kTrainedFrames), else frames / 320
// rounded up.
int AutomaticKeyframeInterval(int64_t frames);

// Decides what the options leave open. `frames`: 0 = unknown.
//
// Mode: windowed if one stream would come to store more than kTrainedFrames frames after its scale
// frames at the keyframe interval asked for or, if none was, at kLongestAutomaticInterval; or if an
// option of windowed mode was given. Each window then stores what the network was trained for.
// Memory decides nothing: a stream of any length holds no more than one window does.
// Keyframes: by the interval where the length is known or in windows, else by motion.
// Throws kInvalidArgument for motion in windows.
StreamPolicy ChooseStreamPolicy(const RunOptions& options, int64_t frames, int scale_frames);

// "12 frames", "an unknown number of frames".
std::string FramesText(int64_t frames);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_STREAM_POLICY_H_
