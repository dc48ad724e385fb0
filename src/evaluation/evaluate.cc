#include "evaluation/evaluate.h"

#include <algorithm>

#include "base/check.h"

namespace lingbot {
namespace {

PosePairs PairsOf(const RunTrack& run, const GroundTruth& truth,
                  const std::vector<Match>& matches) {
  PosePairs pairs;
  for (const Match& match : matches) {
    const TrackPose& pose = truth.track.poses[match.truth];
    pairs.run.push_back(run.track.poses[match.run].pose);
    pairs.truth.push_back(pose.pose);
    pairs.times.push_back(truth.track.has_timestamps ? pose.timestamp
                                                     : static_cast<double>(pose.index));
  }
  return pairs;
}

AlignedErrors AlignAndMeasure(const PosePairs& pairs, bool with_scale) {
  AlignedErrors result;
  result.alignment = AlignPositions(CentersOf(pairs.run), CentersOf(pairs.truth), with_scale);
  if (result.alignment.similarity) {
    result.position = Summarise(PositionErrors(pairs, *result.alignment.similarity));
  }
  return result;
}

std::vector<DepthPairFiles> DepthPairsOf(const RunTrack& run, const GroundTruth& truth,
                                         const std::vector<Match>& matches) {
  std::vector<DepthPairFiles> pairs;
  if (run.frames.empty()) return pairs;
  for (const Match& match : matches) {
    const RunFrame& frame = run.frames[match.run];
    if (frame.depth.empty() || frame.original_width <= 0 || frame.original_height <= 0) continue;
    if (truth.depths[match.truth].empty()) continue;
    const TrackPose& pose = truth.track.poses[match.truth];
    const auto camera = static_cast<size_t>(pose.camera);
    pairs.push_back({frame, run.track.poses[match.run].pose, truth.depths[match.truth], pose.pose,
                     camera < truth.cameras.size() ? truth.cameras[camera] : TruthCamera{}});
  }
  return pairs;
}

void MeasureTrajectory(const EvaluationOptions& options, Evaluation* result) {
  const PosePairs& pairs = result->pairs;
  result->path_length = PathLength(pairs.truth);
  result->se3 = AlignAndMeasure(pairs, /*with_scale=*/false);
  result->sim3 = AlignAndMeasure(pairs, /*with_scale=*/true);
  if (const auto& similarity = result->sim3.alignment.similarity) {
    result->rotation = Summarise(RotationErrors(pairs, *similarity));
    result->relative_scale = similarity->scale;
  }
  result->rotation_from_first = Summarise(RotationErrorsFromFirst(pairs));
  for (const int64_t delta : options.deltas) {
    result->relative.push_back(
        RelativePoseErrors(pairs, result->relative_scale, delta, options.all_pairs));
  }
  result->accuracy = RelativePoseAccuracy(pairs);
  result->trivial = TrivialPoseErrors(pairs);
}

void MeasureDepth(const RunTrack& run, const GroundTruth& truth, DepthScaling scaling,
                  Evaluation* result) {
  const std::vector<DepthPairFiles> pairs = DepthPairsOf(run, truth, result->association.matches);
  result->depth = CompareDepth(pairs, truth.depth_scale, scaling);
  if (truth.depth_maps == 0) result->depth.problem = "the ground truth has no depth maps";
  // By whole poses: positions alone leave the rotation about a straight path open, and a few
  // degrees of it would be all that is measured.
  const Alignment alignment = AlignPoses(result->pairs.run, result->pairs.truth);
  if (!result->depth.problem.empty()) {
    result->surface.problem = result->depth.problem;
  } else if (!alignment.similarity) {
    result->surface.problem = alignment.problem;
  } else if (!truth.depth_scale_known && pairs.front().truth.extension() == ".png") {
    result->surface.problem = "the unit of the true depth is not known; --depth-scale says it";
  } else {
    result->surface = CompareSurface(pairs, truth.depth_scale, *alignment.similarity);
  }
}

std::vector<std::string> WarningsOf(const RunTrack& run, const GroundTruth& truth,
                                    const Evaluation& result) {
  std::vector<std::string> warnings;
  if (!run.status.empty() && run.status != "complete") {
    warnings.push_back(fmt::format(
        "the run is not complete (its manifest says \"{}\"): what is judged is what there is",
        run.status));
  }
  const size_t matched = result.association.matches.size();
  const size_t possible = std::min(run.track.poses.size(), truth.track.poses.size());
  if (2 * matched < possible) {
    warnings.push_back(fmt::format(
        "only {} of {} poses match by {}; {}", matched, possible, NameOf(result.association.by),
        result.association.by == AssociateBy::kTime
            ? "--tolerance allows larger distances, --associate index matches frame numbers "
              "(frames of an image folder have no times of their own)"
            : "--associate chooses what is compared"));
  }
  if (run.track.unusable + truth.track.unusable > 0) {
    warnings.push_back(
        fmt::format("poses that are no numbers were left out: {} of the run, {} of "
                    "the ground truth",
                    run.track.unusable, truth.track.unusable));
  }
  return warnings;
}

}  // namespace

Evaluation Evaluate(const RunTrack& run, const GroundTruth& truth,
                    const EvaluationOptions& options) {
  for (const int64_t delta : options.deltas) {
    Check(delta >= 1, ErrorCode::kInvalidArgument, "a delta is {} poses; at least 1 is needed",
          delta);
  }
  Evaluation result;
  result.run_poses = static_cast<int64_t>(run.track.poses.size());
  result.truth_poses = static_cast<int64_t>(truth.track.poses.size());
  result.truth_depth_maps = truth.depth_maps;
  result.association = Associate(run.track, truth.track, options.associate, options.tolerance);
  Check(!result.association.matches.empty(), ErrorCode::kNoInput,
        "no pose of the run matches one of the ground truth by {}; --associate index, time or name "
        "chooses what is compared, --tolerance how far times may be apart",
        NameOf(result.association.by));
  result.pairs = PairsOf(run, truth, result.association.matches);
  result.warnings = WarningsOf(run, truth, result);
  MeasureTrajectory(options, &result);
  MeasureDepth(run, truth, options.depth_scaling, &result);
  return result;
}

}  // namespace lingbot
