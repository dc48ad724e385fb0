#ifndef LINGBOT_EVALUATION_GROUND_TRUTH_H_
#define LINGBOT_EVALUATION_GROUND_TRUTH_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/pose_track.h"
#include "evaluation/truth_camera.h"

namespace lingbot {

struct GroundTruthOptions {
  std::filesystem::path path;   // folder or pose file
  std::filesystem::path depth;  // folder of depth maps; empty: "depth" in the folder, if any
  // Of depth maps of whole numbers, depth = value * scale; none: the camera file's, else 1.
  std::optional<double> depth_scale;
  double tolerance = 0.01;  // seconds between a depth map named by its time and a pose
};

// A true trajectory and what goes with it.
struct GroundTruth {
  std::string format;  // "TUM", "KITTI" or "COLMAP"
  PoseTrack track;
  std::vector<TruthCamera> cameras;
  std::vector<std::filesystem::path> depths;  // of each pose; empty paths where there is none
  int64_t depth_maps = 0;
  int64_t spare_depth_maps = 0;  // of frames that have one already, which counts
  std::string spare_depth_map;   // the first of them, and the one that counts
  double depth_scale = 1.0;
  bool depth_scale_known = false;  // said by the camera file or the options
};

// Reads
//   a folder with poses.txt (TUM or KITTI), camera.json and depth/, or with its parts; it may
//     also be the folder above, with these in ground_truth/,
//   a COLMAP model (images and cameras, .bin or .txt), also in sparse/0 of the folder,
//   a folder written by `lingbot-map run`, for its trajectory,
//   a file of poses as ReadPoseFile does.
// Depth maps (.png, .npy) belong to the pose whose image has the same name apart from the
// extension, else whose index is the number in their name, else, with a decimal point in it, whose
// time that is. Of two maps of a frame the .npy counts, else the first by name. Throws
// kFileNotFound, kNoInput, and as the readers of the parts do.
GroundTruth ReadGroundTruth(const GroundTruthOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_GROUND_TRUTH_H_
