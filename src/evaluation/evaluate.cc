#include "evaluation/evaluate.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

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

// Frames whose depth files are gone are left out, and counted in `missing`.
std::vector<DepthPairFiles> DepthPairsOf(const RunTrack& run, const GroundTruth& truth,
                                         const std::vector<Match>& matches, int64_t* missing) {
  std::vector<DepthPairFiles> pairs;
  if (run.frames.empty()) return pairs;
  for (const Match& match : matches) {
    const RunFrame& frame = run.frames[match.run];
    if (frame.depth.empty() || frame.original_width <= 0 || frame.original_height <= 0) continue;
    if (truth.depths[match.truth].empty()) continue;
    std::error_code ignored;
    if (!std::filesystem::exists(frame.depth, ignored)) {
      ++*missing;
      continue;
    }
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
  int64_t missing = 0;
  const std::vector<DepthPairFiles> pairs =
      DepthPairsOf(run, truth, result->association.matches, &missing);
  if (missing > 0) {
    result->warnings.push_back(fmt::format(
        "{} of the run's depth files are gone: their frames are left out of the depth errors",
        missing));
  }
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

// The size of the run's images against that of the true camera's, where both are known.
void WarnOfOtherCamera(const RunTrack& run, const GroundTruth& truth, const Evaluation& result,
                       std::vector<std::string>* warnings) {
  if (run.frames.empty()) return;
  for (const Match& match : result.association.matches) {
    const RunFrame& frame = run.frames[match.run];
    const auto number = static_cast<size_t>(truth.track.poses[match.truth].camera);
    if (number >= truth.cameras.size() || frame.original_width <= 0) continue;
    const TruthCamera& camera = truth.cameras[number];
    if (camera.width <= 0) continue;
    if (camera.width == frame.original_width && camera.height == frame.original_height) continue;
    warnings->push_back(fmt::format(
        "the true camera has {}x{} pixels, the run's images {}x{}: depth and surfaces are compared "
        "as if both show the same picture",
        camera.width, camera.height, frame.original_width, frame.original_height));
    return;
  }
}

// Poses of the same time: the first of them is matched.
int64_t RepeatedTimes(const PoseTrack& track) {
  std::vector<double> times;
  for (const TrackPose& pose : track.poses) times.push_back(pose.timestamp);
  std::sort(times.begin(), times.end());
  return times.end() - std::unique(times.begin(), times.end());
}

void WarnOfFiles(const RunTrack& run, const GroundTruth& truth,
                 std::vector<std::string>* warnings) {
  if (run.cut_records > 0) {
    warnings->push_back(
        "the last record of frames.jsonl is cut off, as a killed run leaves it: it "
        "is left out");
  }
  if (truth.spare_depth_maps > 0) {
    warnings->push_back(
        fmt::format("{} frames of the ground truth have more than one depth map, the first is {}",
                    truth.spare_depth_maps, truth.spare_depth_map));
  }
}

void WarnOfTimes(const RunTrack& run, const GroundTruth& truth, AssociateBy asked,
                 const Evaluation& result, std::vector<std::string>* warnings) {
  const AssociateBy by = result.association.by;
  if (by == AssociateBy::kTime) {
    for (const auto& [track, name] :
         {std::pair(&run.track, "run"), std::pair(&truth.track, "ground truth")}) {
      const int64_t repeated = RepeatedTimes(*track);
      if (repeated == 0) continue;
      warnings->push_back(
          fmt::format("{} poses of the {} have the time of an earlier one: where they could match, "
                      "the first of a time does",
                      repeated, name));
    }
  } else if (asked == AssociateBy::kAuto && truth.track.has_timestamps &&
             run.track.invented_times) {
    warnings->push_back(fmt::format(
        "frames of an image folder have no times of their own: matched by {}, not by time",
        NameOf(by)));
  }
}

std::vector<std::string> WarningsOf(const RunTrack& run, const GroundTruth& truth,
                                    AssociateBy asked, const Evaluation& result) {
  std::vector<std::string> warnings;
  if (!run.status.empty() && run.status != "complete") {
    warnings.push_back(fmt::format(
        "the run is not complete (its manifest says \"{}\"): what is judged is what there is",
        run.status));
  }
  WarnOfFiles(run, truth, &warnings);
  WarnOfTimes(run, truth, asked, result, &warnings);
  WarnOfOtherCamera(run, truth, result, &warnings);
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
  result.warnings = WarningsOf(run, truth, options.associate, result);
  MeasureTrajectory(options, &result);
  MeasureDepth(run, truth, options.depth_scaling, &result);
  return result;
}

}  // namespace lingbot
