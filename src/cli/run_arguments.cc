#include "cli/run_arguments.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/byte_size.h"
#include "cli/time_text.h"
#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

// The engine's bounds, said here so that --help states them.
constexpr int kMost = 1 << 20;  // of any count that has no bound of its own
constexpr int kMostScaleFrames = 1024;
constexpr int kMostCameraIterations = 64;

// An option whose value is one of a few words.
template <typename T>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, T* target,
                       const std::map<std::string, T>& choices, const std::string& fallback,
                       const std::string& text) {
  CLI::Option* option = app->add_option_function<std::string>(
      name, [target, choices](const std::string& word) { *target = choices.at(word); }, text);
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  option->check(CLI::IsMember(words));
  option->default_str(fallback);
  return option;
}

template <typename T>
CLI::Option* AddCount(CLI::App* app, const std::string& name, T* target, int64_t least,
                      const std::string& fallback, const std::string& text, int64_t most = kMost) {
  CLI::Option* option = app->add_option(name, *target, text);
  option->check(CLI::Range(least, most));
  option->default_str(fallback);
  return option;
}

// Refuses what a comparison with the bounds lets through: not-a-number.
CLI::Option* AddNumber(CLI::App* app, const std::string& name, std::function<void(double)> set,
                       double least, const std::string& fallback, const std::string& text) {
  CLI::Option* option = app->add_option_function<double>(
      name,
      [set = std::move(set), name, least](double value) {
        if (!std::isfinite(value) || value < least) {
          throw CLI::ValidationError(
              name, "must be a finite number of at least " + CLI::detail::to_string(least));
        }
        set(value);
      },
      text);
  option->default_str(fallback);
  return option;
}

// An argument that names something: the empty string names nothing.
CLI::Option* AddPath(CLI::App* app, const std::string& name, std::string* target,
                     const std::string& text) {
  return app->add_option(name, *target, text)->required()->check([name](const std::string& value) {
    return value.empty() ? name + " is empty" : std::string();
  });
}

// A time in a video.
void AddTime(CLI::App* app, const std::string& name, double* target, const std::string& fallback,
             const std::string& text) {
  app->add_option_function<std::string>(
         name,
         [name, target](const std::string& value) {
           try {
             *target = ParseTime(value);
           } catch (const Error& error) {
             throw CLI::ValidationError(name, error.what());
           }
         },
         text)
      ->default_str(fallback);
}

// "640x480" into two numbers; an error message, or "".
std::string ParseSize(const std::string& text, int* width, int* height) {
  const size_t cross = text.find('x');
  const bool parsed = cross != std::string::npos &&
                      CLI::detail::lexical_cast(text.substr(0, cross), *width) &&
                      CLI::detail::lexical_cast(text.substr(cross + 1), *height) && *width > 0 &&
                      *height > 0 && *width <= kMost && *height <= kMost;
  return parsed ? "" : "must be WIDTHxHEIGHT in pixels, such as 640x480, not " + text;
}

// What only inputs that come as they are made have.
void AddLiveArguments(CLI::App* app, RunOptions* options) {
  AddChoice<std::string>(app, "--input-format", &options->input_format,
                         {{"auto", ""}, {"rgb24", "rgb24"}, {"mjpeg", "mjpeg"}}, "auto",
                         "standard input: raw RGB frames, motion JPEG, or a container that says");
  app->add_option_function<std::string>(
         "--size",
         [options](const std::string& text) {
           const std::string problem =
               ParseSize(text, &options->input_width, &options->input_height);
           if (!problem.empty()) throw CLI::ValidationError("--size", problem);
         },
         "raw frames, cameras: WIDTHxHEIGHT")
      ->default_str("the camera's");
  AddNumber(
      app, "--rate", [options](double rate) { options->input_rate = rate; }, 0.001, "the camera's",
      "raw frames, motion JPEG, cameras: frames a second");
  AddNumber(
      app, "--timeout", [options](double seconds) { options->timeout = std::min(seconds, 1e6); }, 0,
      "10", "streams: seconds of silence before giving up; 0 = never");
}

void AddInputArguments(CLI::App* app, RunOptions* options) {
  AddPath(app, "INPUT", &options->input,
          "folder of images, \"pattern\", image, video, rtsp:// or http:// stream, camera "
          "(/dev/video0), or - for standard input");
  app->add_option("--model", options->model,
                  "checkpoint (.pt or .safetensors), or its name in a folder of models")
      ->default_str("nano, the bundled one")
      ->check([](const std::string& name) { return name.empty() ? "a name is empty" : ""; });
  app->add_option("--models-dir", options->models_dir, "folder to look into for the model's name")
      ->default_str("models/ of the program")
      ->check(CLI::ExistingDirectory);
  AddPath(app, "--out", &options->out, "folder for the results; made if it does not exist");
  app->add_option("--image-size", options->image_size,
                  "width of the network's input in pixels, a multiple of its patch size")
      ->check(CLI::Range(1, kMaxImageSize))
      ->default_str("the model's");
  AddChoice<ResizeMode>(app, "--preprocess", &options->resize,
                        {{"crop", ResizeMode::kCrop}, {"pad", ResizeMode::kPad}}, "crop",
                        "portrait images: cut rows off, or add white to a square");
  AddNumber(
      app, "--fps", [options](double rate) { options->frames_per_second = rate; }, 0.001, "all",
      "videos, streams: at most so many frames a second, evenly in time");
  AddTime(app, "--start", &options->start, "0", "videos: begin here; seconds or [hh:]mm:ss");
  AddTime(app, "--end", &options->end, "the end", "videos, streams: end before this time");
  AddLiveArguments(app, options);
  AddCount(app, "--stride", &options->stride, 1, "1", "use every n-th frame");
  AddCount(app, "--max-frames", &options->max_frames, 0, "0", "stop after so many frames; 0 = all");
  app->add_flag("--skip-bad", options->skip_bad,
                "leave out images that cannot be read or have another size");
}

void AddStreamArguments(CLI::App* app, RunOptions* options) {
  SessionOptions* session = &options->session;
  AddCount(app, "--scale-frames", &session->scale_frames, 1, "the model's",
           "frames processed together at the start", kMostScaleFrames);
  AddCount(app, "--window", &session->sliding_window, 1, "the model's",
           "later frames whose patches stay visible");
  AddCount(app, "--keyframe-interval", &options->keyframe_interval, 1, "automatic",
           "store every n-th frame; automatic: 1 up to 320 frames, else frames / 320 rounded up "
           "(windowed: 1)");
  AddCount(app, "--camera-iterations", &session->camera_iterations, 1, "the model's",
           "refinement passes of the camera head", kMostCameraIterations);
  AddCount(app, "--trajectory-frames", &session->trajectory_frames, 1, "1024",
           "stored frames that are remembered before older ones are thinned out");
  app->add_flag("--strict", session->strict, "end with an error instead of thinning");
  AddChoice<bool>(app, "--mode", &options->windowed, {{"streaming", false}, {"windowed", true}},
                  "streaming", "one stream, or overlapping windows aligned to each other");
  AddCount(app, "--window-size", &options->windows.window_size, 1, "64",
           "windowed: stored frames of a window");
  CLI::Option* keyframes = AddCount(app, "--overlap-keyframes", &options->windows.overlap_keyframes,
                                    1, "none", "windowed: stored frames that neighbours share");
  AddCount(app, "--overlap-frames", &options->windows.overlap_frames, 1, "the scale frames",
           "windowed: frames that neighbours share")
      ->excludes(keyframes);
}

void AddMachineArguments(CLI::App* app, RunOptions* options) {
  AddChoice<Precision>(
      app, "--precision", &options->precision,
      {{"fp32", Precision::kFloat32}, {"bf16", Precision::kBFloat16}, {"auto", Precision::kAuto}},
      "auto", "of weights and cache; auto: bf16 where the device multiplies it");
  app->add_option_function<std::string>(
         "--device",
         [options](const std::string& text) {
           try {
             options->device = ParseDevice(text);
           } catch (const Error& error) {
             throw CLI::ValidationError("--device", error.what());
           }
         },
         "cpu, cuda, or cuda:N for GPU N; auto: a GPU if there is one")
      ->default_str("auto");
  AddChoice<AttentionBackend>(app, "--attention", &options->session.attention,
                              AttentionBackendNames(), "auto", "who computes attention");
  app->add_flag_callback(
      "--no-graph", [options] { options->session.graph = false; },
      "GPU: launch every step anew instead of replaying a CUDA graph");
  app->add_option("--threads", options->session.threads, "processor threads")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
  app->add_option_function<std::string>(
         "--memory-limit",
         [options](const std::string& text) {
           try {
             options->memory_limit = ParseByteSize(text);
           } catch (const Error& error) {
             throw CLI::ValidationError("--memory-limit", error.what());
           }
         },
         "most memory this process may plan for, such as 4GiB or 800MB")
      ->default_str("what is free");
}

void AddOutputArguments(CLI::App* app, RunOptions* options) {
  OutputOptions* output = &options->output;
  CLI::Option* quantile = AddNumber(
      app, "--conf", [output](double q) { output->cloud.filter.confidence_quantile = q; }, 0, "0.5",
      "point cloud: drop this part of the points, those of lowest confidence");
  quantile->check([](const std::string& text) {
    double value = 0;
    const bool below_1 = CLI::detail::lexical_cast(text, value) && value < 1;
    return below_1 ? std::string()
                   : "is a part of the points, from 0 to below 1, not " + text +
                         "; for a confidence itself use --conf-threshold";
  });
  AddNumber(
      app, "--conf-threshold",
      [output](double value) { output->cloud.filter.min_confidence = static_cast<float>(value); },
      0, "none", "point cloud: keep points of at least this confidence instead")
      ->excludes(quantile);
  AddNumber(
      app, "--voxel", [output](double side) { output->cloud.voxel_size = side; }, 0, "0",
      "point cloud: at most one point in a cube of this side, in the model's unit; 0 = off");
  app->add_option("--max-points", output->cloud.point_budget, "point cloud: at most so many points")
      ->check(CLI::Range(int64_t{1}, int64_t{200'000'000}))
      ->default_str("2000000");
  app->add_flag_callback(
      "--no-ply", [output] { output->ply = false; }, "write no point cloud");
  app->add_flag_callback(
      "--no-depth", [output] { output->frames.depth_png = output->frames.depth_npy = false; },
      "write no depth files");
  app->add_flag_callback(
      "--no-images", [output] { output->frames.images = false; },
      "do not keep the frames as the network saw them, which later exports take colours from");
  app->add_flag("--overwrite", output->overwrite,
                "replace an earlier run, or write beside other files");
  app->add_flag("--quiet", options->quiet, "say nothing but warnings and errors");
  app->add_flag("--json", options->json, "summary as JSON on standard output");
}

}  // namespace

void AddRunArguments(CLI::App* app, RunOptions* options) {
  AddInputArguments(app, options);
  AddStreamArguments(app, options);
  AddMachineArguments(app, options);
  AddOutputArguments(app, options);
}

}  // namespace lingbot::cli
