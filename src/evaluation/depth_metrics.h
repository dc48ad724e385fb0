#ifndef LINGBOT_EVALUATION_DEPTH_METRICS_H_
#define LINGBOT_EVALUATION_DEPTH_METRICS_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "evaluation/depth_map.h"
#include "evaluation/run_track.h"
#include "evaluation/similarity.h"
#include "evaluation/truth_camera.h"
#include "geometry/pose.h"

namespace lingbot {

// A frame whose depth is known on both sides.
struct DepthPairFiles {
  RunFrame run;
  RigidPose run_pose;  // world_from_camera
  std::filesystem::path truth;
  RigidPose truth_pose;
  TruthCamera truth_camera;  // width 0 = unknown
};

enum class DepthScaling { kSequence, kFrame, kNone };

// Of s * p against the truth t, pixel by pixel of the truth; s is the median of t / p over the
// sequence, over the frame, or 1.
struct DepthErrors {
  int64_t frames = 0;
  int64_t pixels = 0;           // with both depths known
  double scale = 1;             // of the sequence; NaN if there is one a frame
  double abs_rel = 0;           // mean of |s p - t| / t
  double delta[3] = {0, 0, 0};  // part with max(s p / t, t / (s p)) < 1.25, 1.25^2, 1.25^3
};

struct DepthReport {
  DepthErrors run;
  DepthErrors
      constant;  // the same depth everywhere, scaled likewise (kNone: the median all the same)
  std::string problem;  // not empty: nothing could be compared
};

// Medians over a sequence take evenly spread pixels where there are more than so many.
inline constexpr int64_t kMostMedianPixels = int64_t{1} << 22;

// The run's depth at the centre of every pixel of a true map, whatever the resolutions: the true
// map covers the whole original image. Bilinear where the four neighbours lie within 10 % of each
// other, else the nearest, as depth between two surfaces is on neither. NaN outside of the run's
// map and where it is unknown. Throws kShapeMismatch if the true map has other proportions than the
// original image.
std::vector<float> SampleAtTruth(const DepthMap& run, const RunFrame& frame, const DepthMap& truth,
                                 const std::string& name);

// Reads every map once or twice; memory does not grow with their number beyond the medians.
DepthReport CompareDepth(std::span<const DepthPairFiles> pairs, double truth_scale,
                         DepthScaling scaling);

// The whole pipeline against the true surfaces: points of the run (pose, intrinsics and depth of a
// pixel) are brought into the true world by `alignment` and seen by the true camera of their
// frame. A point's distance is |z - t| / t, with its depth z there and the true depth t of the
// pixel that it falls on. A point behind the camera or outside of the picture is infinitely far
// off. Points that fall on pixels without true depth do not count.
struct SurfaceReport {
  int64_t frames = 0;
  int64_t points = 0;
  int64_t outside = 0;  // of these, behind the camera or outside of the picture
  double median = 0;    // infinite if half of the points are outside
  double percentile_90 = 0;
  std::string problem;  // not empty: nothing could be compared
};
SurfaceReport CompareSurface(std::span<const DepthPairFiles> pairs, double truth_scale,
                             const Similarity& alignment);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_DEPTH_METRICS_H_
