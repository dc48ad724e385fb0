#ifndef LINGBOT_CLI_RUN_OPTIONS_H_
#define LINGBOT_CLI_RUN_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/option_names.h"
#include "lingbot/options.h"
#include "lingbot/session.h"
#include "output/run_writer.h"
#include "preprocess/resize_size.h"

namespace lingbot::cli {

// One stream, overlapping windows, or what suits the input.
enum class RunMode { kAuto, kStreaming, kWindowed };

// What the command line of `run` says, before anything was looked at.
struct RunOptions {
  std::string input;
  std::string model;       // path or name; empty: the bundled one
  std::string models_dir;  // looked into first for names
  std::string out;

  int image_size = 0;  // pixels; 0 = the model's own
  ResizeMode resize = ResizeMode::kCrop;
  int64_t stride = 1;
  int64_t max_frames = 0;        // 0 = all
  double frames_per_second = 0;  // videos: 0 = all frames
  double start = 0;              // videos: seconds
  double end = std::numeric_limits<double>::infinity();
  std::string input_format;               // of standard input; "" = by content
  int input_width = 0, input_height = 0;  // raw frames, cameras; 0 = not said
  double input_rate = 0;                  // frames per second; 0 = not said
  double timeout = 10;                    // seconds of silence of a live input; 0 = wait for ever
  bool skip_bad = false;

  RunMode mode = RunMode::kAuto;
  int keyframe_interval = 0;              // 0 = automatic
  std::optional<double> keyframe_motion;  // a fraction of the image's width; 0 = not by motion
  WindowedOptions windows{/*window_size=*/0, /*overlap_keyframes=*/0, /*overlap_frames=*/0};
  // Sizes and back ends. keyframe_interval, keyframe_motion, expected_frames, memory_limit and log
  // follow from the input and are set by PlanRun.
  SessionOptions session;
  DeviceChoice device;
  Precision precision = Precision::kAuto;
  uint64_t memory_limit = 0;  // bytes of the whole process, on the device; 0 = what is free

  // When the run is saved so that it can be resumed. Automatic: when minutes of work would be lost,
  // and never so often that it takes a noticeable part of the time.
  enum class SnapshotKind { kAutomatic, kNever, kEveryFrames };
  SnapshotKind snapshots = SnapshotKind::kAutomatic;
  int64_t snapshot_every = 0;  // frames
  bool keep_snapshot = false;  // of the finished map
  bool resume = false;

  OutputOptions output;
  bool quiet = false;
  bool json = false;
};

// How the program loads a model.
inline ModelOptions ModelOptionsOf(const DeviceChoice& device, Precision precision, int threads) {
  ModelOptions model;
  model.device = device.kind;
  model.device_ordinal = device.ordinal;
  model.precision = precision;
  model.threads = threads;
  model.spare_gpu_stack = true;  // the process is ours
  return model;
}
inline ModelOptions ModelOptionsOf(const RunOptions& options) {
  return ModelOptionsOf(options.device, options.precision, options.session.threads);
}

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_OPTIONS_H_
