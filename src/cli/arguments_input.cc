#include <algorithm>
#include <string>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/run_arguments.h"
#include "cli/time_text.h"

namespace lingbot::cli {
namespace {

// A time in a video.
void AddTime(CLI::App* app, const std::string& name, double* target, const std::string& fallback,
             const std::string& text) {
  AddText(
      app, name, "TIME", [target](const std::string& word) { *target = ParseTime(word); }, fallback,
      text);
}

// "640x480" into two numbers.
void ReadSize(const std::string& text, int* width, int* height) {
  const size_t cross = text.find('x');
  Check(cross != std::string::npos, ErrorCode::kInvalidArgument,
        "'{}' is not WIDTHxHEIGHT in pixels, such as 640x480", text);
  *width = static_cast<int>(ReadCount(text.substr(0, cross), 1, kMostCount));
  *height = static_cast<int>(ReadCount(text.substr(cross + 1), 1, kMostCount));
}

}  // namespace

void AddInputArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Input");
  AddRequired(app, "INPUT", "INPUT", &options->input,
              "folder of images, \"pattern\", image, video, rtsp:// or http:// stream, camera "
              "(/dev/video0), or - for standard input");
  AddNumber(
      app, "--fps", "RATE", [options](double rate) { options->frames_per_second = rate; }, 0.001,
      "all", "videos, streams: at most so many frames a second, evenly in time");
  AddTime(app, "--start", &options->start, "0", "videos: begin here; seconds or [hh:]mm:ss");
  AddTime(app, "--end", &options->end, "the end", "videos, streams: end before this time");
  AddCount(app, "--stride", &options->stride, 1, "1", "use every n-th frame");
  AddCount(app, "--max-frames", &options->max_frames, 0, "0", "stop after so many frames; 0 = all");
  AddChoice<ResizeMode>(app, "--preprocess", &options->resize,
                        {{"crop", ResizeMode::kCrop}, {"pad", ResizeMode::kPad}}, "crop",
                        "portrait images: cut rows off, or add white to a square");
  AddSwitch(app, "--skip-bad", &options->skip_bad,
            "leave out images that cannot be read or have another size");
}

// What only inputs that come as they are made have.
void AddLiveArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Cameras, network streams, standard input");
  AddChoice<std::string>(app, "--input-format", &options->input_format,
                         std::vector<std::pair<std::string, std::string>>{
                             {"auto", ""}, {"rgb24", "rgb24"}, {"mjpeg", "mjpeg"}},
                         "auto",
                         "standard input: raw RGB frames, motion JPEG, or a container that says");
  AddText(
      app, "--size", "WIDTHxHEIGHT",
      [options](const std::string& word) {
        ReadSize(word, &options->input_width, &options->input_height);
      },
      "the camera's", "raw frames, cameras: pixels of a frame");
  AddNumber(
      app, "--rate", "RATE", [options](double rate) { options->input_rate = rate; }, 0.001,
      "the camera's", "raw frames, motion JPEG, cameras: frames a second");
  AddNumber(
      app, "--timeout", "SECONDS",
      [options](double seconds) { options->timeout = std::min(seconds, 1e6); }, 0, "10",
      "streams: seconds of silence before giving up; 0 = never");
}

}  // namespace lingbot::cli
