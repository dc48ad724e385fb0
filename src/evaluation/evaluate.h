#ifndef LINGBOT_EVALUATION_EVALUATE_H_
#define LINGBOT_EVALUATION_EVALUATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/association.h"
#include "evaluation/depth_metrics.h"
#include "evaluation/ground_truth.h"
#include "evaluation/run_track.h"
#include "evaluation/similarity.h"
#include "evaluation/trajectory_metrics.h"

namespace lingbot {

struct EvaluationOptions {
  AssociateBy associate = AssociateBy::kAuto;
  double tolerance = 0.01;                // seconds
  std::vector<int64_t> deltas = {1, 10};  // matched poses
  bool all_pairs = false;                 // of RelativePoseErrors
  DepthScaling depth_scaling = DepthScaling::kSequence;
};

// Position errors after one kind of alignment, or why there are none.
struct AlignedErrors {
  Alignment alignment;
  ErrorStatistics position;
};

struct Evaluation {
  Association association;
  int64_t run_poses = 0;
  int64_t truth_poses = 0;
  int64_t truth_depth_maps = 0;
  PosePairs pairs;
  double path_length = 0;  // of the matched true poses, in the truth's unit
  AlignedErrors se3;
  AlignedErrors sim3;
  ErrorStatistics rotation;             // after the Sim3 alignment, degrees
  ErrorStatistics rotation_from_first;  // degrees
  double relative_scale = 1;            // of the run's lengths in `relative`: the Sim3's, else 1
  std::vector<RelativeErrors> relative;
  RelativeAccuracy accuracy;
  TrivialErrors trivial;
  DepthReport depth;
  SurfaceReport surface;
  std::vector<std::string> warnings;
};

// Throws kNoInput if no pose matches, else as its parts do.
Evaluation Evaluate(const RunTrack& run, const GroundTruth& truth,
                    const EvaluationOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_EVALUATE_H_
