#include "cli/manual_text.h"

namespace lingbot::cli {

const std::vector<Example>& Examples() {
  static const std::vector<Example> examples = {
      {"run", "lingbot-map run photos/ --model lingbot-map.pt --out my-map",
       "a folder of images, in natural order of their names"},
      {"run", "lingbot-map run clip.mp4 --fps 10 --start 0:05 --end 1:00 --out my-map",
       "ten frames a second of a part of a video, with the bundled model"},
      {"run", "lingbot-map run rtsp://192.168.0.7/stream --max-frames 3000 --out my-map",
       "a network camera; Ctrl-C ends the run, too"},
      {"run",
       "ffmpeg -i clip.mkv -f mjpeg -q:v 2 - | lingbot-map run - --input-format mjpeg --rate 30 "
       "--out my-map",
       "whatever another program writes"},
      {"export", "lingbot-map export my-map --export glb,colmap-bin",
       "other formats, later; also of a run that was interrupted or killed"},
      {"eval", "lingbot-map eval my-map --ground-truth groundtruth.txt --plot errors.svg",
       "how far the trajectory is from the true one"},
      {"doctor", "lingbot-map doctor --memory-limit 4GiB",
       "the sizes and windows that a card or a machine of 4 GiB can run"},
      {"completion", "source <(lingbot-map completion bash)", "completion in this shell"},
  };
  return examples;
}

const std::vector<ManualRow>& ExitCodes() {
  static const std::vector<ManualRow> codes = {
      {"0", "done"},
      {"1", "failed while loading, computing or writing"},
      {"2", "the command line or the input cannot be used; nothing was written"},
      {"130", "interrupted; the frames so far are written"},
  };
  return codes;
}

const std::vector<ManualRow>& ResultFiles() {
  static const std::vector<ManualRow> files = {
      {"trajectory_tum.txt",
       "TUM format: one camera-to-world pose a frame, written as frames come"},
      {"frames.jsonl",
       "one record a frame: source, pose, intrinsics of the resized and of the original image, "
       "files"},
      {"depth/", "per frame a 16-bit PNG with stated scale and a float32 NPY"},
      {"confidence/", "per frame a float32 NPY"},
      {"images/", "per frame a PNG, upright and resized: what the network saw"},
      {"points.ply", "binary PLY: the more confident points of all frames, thinned to a budget"},
      {"manifest.json", "status, conventions, options, preprocessing, model, timings"},
  };
  return files;
}

std::string ExitCodesText() {
  std::string text;
  for (const ManualRow& code : ExitCodes()) {
    text += std::string(text.empty() ? "" : "; ") + code.name + " " + code.text;
  }
  return text + ".";
}

std::string ExamplesText(const std::string& command) {
  std::string text;
  for (const Example& example : Examples()) {
    if (command == example.command) text += std::string("  ") + example.line + "\n";
  }
  return text;
}

}  // namespace lingbot::cli
