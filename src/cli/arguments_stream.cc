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
  AddChoice<bool>(app, "--mode", &options->windowed, {{"streaming", false}, {"windowed", true}},
                  "streaming", "one stream, or overlapping windows aligned to each other");
  AddCount(app, "--keyframe-interval", &options->keyframe_interval, 1, "automatic",
           "store every n-th frame; automatic: 1 up to 320 frames, else frames / 320 rounded up "
           "(windowed: 1)");
  AddCount(app, "--window-size", &options->windows.window_size, 1, "64",
           "windowed: stored frames of a window");
  CLI::Option* keyframes = AddCount(app, "--overlap-keyframes", &options->windows.overlap_keyframes,
                                    1, "none", "windowed: stored frames that neighbours share");
  AddCount(app, "--overlap-frames", &options->windows.overlap_frames, 1, "the scale frames",
           "windowed: frames that neighbours share")
      ->excludes(keyframes);
}

}  // namespace lingbot::cli
