#ifndef LINGBOT_EVALUATION_RUN_TRACK_H_
#define LINGBOT_EVALUATION_RUN_TRACK_H_

#include <filesystem>
#include <string>
#include <vector>

#include "evaluation/pose_track.h"
#include "lingbot/camera.h"

namespace lingbot {

// What a run says of a frame besides its pose.
struct RunFrame {
  std::filesystem::path depth;           // NPY; empty = none
  Intrinsics intrinsics = {0, 0, 0, 0};  // of the depth map
  int original_width = 0;                // of the source image; 0 = unknown
  int original_height = 0;
  double scale_x = 1, scale_y = 1;    // depth map = original * scale + offset, pixel corners at
  double offset_x = 0, offset_y = 0;  // whole numbers
};

// A trajectory to be judged. `frames` has an entry for each pose, or is empty where only a
// trajectory is known.
struct RunTrack {
  PoseTrack track;  // index: that of the source, before strides
  std::vector<RunFrame> frames;
  int64_t cut_records = 0;  // last lines that a killed run left unfinished: 0 or 1
  std::string status = {};  // as its manifest says: "complete", "running", ...; "" = unknown
};

// Reads a folder written by `lingbot-map run` (its frames.jsonl, or where that is missing its
// trajectory_tum.txt) or a file as ReadPoseFile does. Throws kFileNotFound, kNoInput for a folder
// of something else, kFileUnreadable, kUnsupportedFormat, kCorruptFile.
RunTrack ReadRun(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_RUN_TRACK_H_
