#include "cli/arguments.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {
namespace {

// The engine's bounds, said here so that a wrong number is refused before anything is looked at.
constexpr int kMostScaleFrames = 1024;
constexpr int kMostCameraIterations = 64;

}  // namespace

void AddStreamArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Stream and memory");
  SessionOptions* session = &options->session;
  AddCount(app, "--scale-frames", &session->scale_frames, 1, "the model's",
           "frames processed together at the start", kMostScaleFrames);
  AddCount(app, "--window", &session->sliding_window, 1, "the model's",
           "later frames whose patches stay visible");
  AddCount(app, "--camera-iterations", &session->camera_iterations, 1, "the model's",
           "refinement passes of the camera head", kMostCameraIterations);
  AddCount(app, "--trajectory-frames", &session->trajectory_frames, 1, "1024",
           "stored frames that are remembered before older ones are thinned out");
  AddSwitch(app, "--strict", &session->strict, "end with an error instead of thinning");
}

void AddLongArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Long sequences");
  AddChoice<RunMode>(app, "--mode", &options->mode,
                     {{"auto", RunMode::kAuto},
                      {"streaming", RunMode::kStreaming},
                      {"windowed", RunMode::kWindowed}},
                     "auto",
                     "one stream, or overlapping windows aligned to each other; auto: windows for "
                     "more than 3,200 frames, or where an option of theirs is given");
  CLI::Option* interval = AddText(
      app, "--keyframe-interval", "N|auto",
      [options](const std::string& word) {
        options->keyframe_interval =
            word == "auto" ? 0 : static_cast<int>(ReadCount(word, 1, kMostCount));
      },
      "auto",
      "store every n-th frame; auto: 1 up to 320 frames, else frames / 320 rounded up, by motion "
      "where the length is unknown (windowed: 1)");
  AddNumber(
      app, "--keyframe-motion", "X",
      [options](double motion) { options->keyframe_motion = motion; }, 0,
      "0.05 where the length is unknown",
      "instead, store a frame once the image has moved by this part of its width; 0 = off")
      ->excludes(interval);
  AddCount(app, "--keyframe-max-gap", &options->session.keyframe_max_gap, 1, "30",
           "by motion: store a frame at the latest so many frames after the last");
  AddCount(app, "--window-size", &options->windows.window_size, 1, "64; auto: 320 + scale frames",
           "windowed: stored frames of a window");
  CLI::Option* keyframes = AddCount(app, "--overlap-keyframes", &options->windows.overlap_keyframes,
                                    1, "none", "windowed: stored frames that neighbours share");
  AddCount(app, "--overlap-frames", &options->windows.overlap_frames, 1, "the scale frames",
           "windowed: frames that neighbours share")
      ->excludes(keyframes);
}

}  // namespace lingbot::cli
