#ifndef LINGBOT_EVALUATION_COLMAP_H_
#define LINGBOT_EVALUATION_COLMAP_H_

#include <filesystem>
#include <vector>

#include "evaluation/pose_track.h"
#include "evaluation/truth_camera.h"

namespace lingbot {

struct ColmapModel {
  PoseTrack track;                   // ordered by image name; index is the position in that order
  std::vector<TruthCamera> cameras;  // that TrackPose::camera counts in
};

// True if the folder holds images.bin or images.txt.
bool IsColmapFolder(const std::filesystem::path& folder);

// Reads images and cameras, binary files before text files if there are both. COLMAP's poses are
// camera_from_world and its pixel centres lie at half integers; the result follows the project's
// conventions. Without a cameras file no camera has a size. Throws kFileNotFound,
// kFileUnreadable, kCorruptFile.
ColmapModel ReadColmap(const std::filesystem::path& folder);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_COLMAP_H_
