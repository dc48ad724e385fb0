#include "evaluation/report.h"

#include <fmt/format.h>

#include <cmath>

namespace lingbot {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json StatisticsJson(const ErrorStatistics& s) {
  if (s.count == 0) return nullptr;
  return {{"count", s.count},   {"rmse", s.rmse}, {"mean", s.mean}, {"median", s.median},
          {"std", s.deviation}, {"min", s.min},   {"max", s.max}};
}

double PercentOfPath(const ErrorStatistics& position, double path) {
  return path > 0 ? 100 * position.rmse / path : std::nan("");
}

Json PositionJson(const ErrorStatistics& position, double path) {
  Json json = StatisticsJson(position);
  if (json.is_object()) json["percent_of_path"] = NumberOrNull(PercentOfPath(position, path));
  return json;
}

Json AlignmentJson(const AlignedErrors& errors, double path) {
  if (!errors.alignment.similarity) return {{"problem", errors.alignment.problem}};
  const Similarity& s = *errors.alignment.similarity;
  Json json = PositionJson(errors.position, path);
  Json rotation = Json::array();
  for (int row = 0; row < 3; ++row) {
    rotation.push_back({s.rotation(row, 0), s.rotation(row, 1), s.rotation(row, 2)});
  }
  json["alignment"] = {{"scale", s.scale},
                       {"rotation", rotation},
                       {"translation", {s.translation[0], s.translation[1], s.translation[2]}}};
  return json;
}

Json RelativeJson(const Evaluation& evaluation, bool all_pairs) {
  Json json = {{"pairs", all_pairs ? "all" : "consecutive"},
               {"scale", evaluation.relative_scale},
               {"deltas", Json::array()}};
  for (const RelativeErrors& errors : evaluation.relative) {
    json["deltas"].push_back({{"delta", errors.delta},
                              {"translation", StatisticsJson(errors.translation)},
                              {"rotation_deg", StatisticsJson(errors.rotation_degrees)}});
  }
  return json;
}

Json AccuracyJson(const RelativeAccuracy& accuracy) {
  Json json = {{"pairs", accuracy.pairs}};
  for (size_t i = 0; i < kAucThresholds.size(); ++i) {
    const std::string key = std::to_string(kAucThresholds[i]);
    json[key] = accuracy.pairs > 0 ? Json(accuracy.auc[i]) : Json(nullptr);
  }
  return json;
}

const char* NameOf(DepthScaling scaling) {
  switch (scaling) {
    case DepthScaling::kSequence:
      return "sequence";
    case DepthScaling::kFrame:
      return "frame";
    case DepthScaling::kNone:
      return "none";
  }
  return "?";
}

Json DepthErrorsJson(const DepthErrors& errors) {
  return {{"frames", errors.frames},
          {"pixels", errors.pixels},
          {"scale", NumberOrNull(errors.scale)},
          {"abs_rel", NumberOrNull(errors.abs_rel)},
          {"delta_1.25", NumberOrNull(errors.delta[0])},
          {"delta_1.25^2", NumberOrNull(errors.delta[1])},
          {"delta_1.25^3", NumberOrNull(errors.delta[2])}};
}

Json SurfaceJson(const SurfaceReport& surface) {
  if (!surface.problem.empty()) return {{"problem", surface.problem}};
  return {{"frames", surface.frames},
          {"points", surface.points},
          {"outside", surface.outside},
          {"median", NumberOrNull(surface.median)},
          {"percentile_90", NumberOrNull(surface.percentile_90)}};
}

Json BaselinesJson(const Evaluation& evaluation) {
  const TrivialErrors& trivial = evaluation.trivial;
  Json json = {
      {"static_camera",
       {{"ate", PositionJson(trivial.static_position, evaluation.path_length)},
        {"rotation_from_first_deg", StatisticsJson(trivial.static_rotation)}}},
      {"straight_line", {{"ate", PositionJson(trivial.line_position, evaluation.path_length)}}}};
  if (evaluation.depth.problem.empty()) {
    json["constant_depth"] = DepthErrorsJson(evaluation.depth.constant);
  }
  return json;
}

std::string Cell(double value) {
  if (std::isnan(value)) return fmt::format("{:>10}", "-");
  return fmt::format("{:>10.4g}", value);
}

std::string Percent(double value) {
  return std::isnan(value) ? fmt::format("{:>10}", "-") : fmt::format("{:>8.2f} %", value);
}

std::string Row(const std::string& name, const ErrorStatistics& s, const std::string& last = {}) {
  if (s.count == 0) return fmt::format("  {:<38}{:>10}\n", name, "-");
  return fmt::format("  {:<38}{}{}{}{}{}\n", name, Cell(s.rmse), Cell(s.mean), Cell(s.median),
                     Cell(s.max), last);
}

std::string PositionRows(const Evaluation& e) {
  std::string text =
      fmt::format("{:<40}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "position, in the truth's unit", "rmse",
                  "mean", "median", "max", "of path");
  const auto row = [&](const std::string& name, const ErrorStatistics& s) {
    text += Row(name, s, Percent(PercentOfPath(s, e.path_length)));
  };
  const auto aligned = [&](const char* kind, const AlignedErrors& errors) {
    if (!errors.alignment.similarity) {
      text += fmt::format("  {} not determined: {}\n", kind, errors.alignment.problem);
      return;
    }
    row(fmt::format("{} (scale {:.4g})", kind, errors.alignment.similarity->scale),
        errors.position);
  };
  aligned("ATE, Sim3", e.sim3);
  aligned("ATE, SE3", e.se3);
  row("baseline: straight line (oracle)", e.trivial.line_position);
  row("baseline: static camera", e.trivial.static_position);
  return text;
}

std::string RotationRows(const Evaluation& e) {
  std::string text = "rotation, degrees\n";
  text += Row("after Sim3 alignment", e.rotation);
  text += Row("from the first frame on", e.rotation_from_first);
  return text + Row("baseline: static camera, from the first", e.trivial.static_rotation);
}

std::string RelativeRows(const Evaluation& e, bool all_pairs) {
  std::string text =
      fmt::format("motion over some frames (RPE), {} pairs\n", all_pairs ? "all" : "consecutive");
  for (const RelativeErrors& errors : e.relative) {
    text += Row(fmt::format("translation, delta {}", errors.delta), errors.translation);
    text +=
        Row(fmt::format("rotation in degrees, delta {}", errors.delta), errors.rotation_degrees);
  }
  if (e.accuracy.pairs == 0) return text;
  text += fmt::format("relative poses, {} pairs", e.accuracy.pairs);
  for (size_t i = 0; i < kAucThresholds.size(); ++i) {
    text += fmt::format("   AUC@{} {:.3f}", kAucThresholds[i], e.accuracy.auc[i]);
  }
  return text + "\n";
}

std::string DepthRow(const std::string& name, const DepthErrors& d) {
  return fmt::format("  {:<38}{}{}{}{}\n", name, Cell(d.abs_rel), Cell(d.delta[0]),
                     Cell(d.delta[1]), Cell(d.delta[2]));
}

std::string DepthRows(const Evaluation& e, DepthScaling scaling) {
  if (!e.depth.problem.empty()) return fmt::format("depth not compared: {}\n", e.depth.problem);
  const DepthErrors& run = e.depth.run;
  const std::string scale = scaling == DepthScaling::kFrame
                                ? "own scale a frame"
                                : fmt::format("scale {:.4g}", run.scale);
  std::string text = fmt::format("{:<40}{:>10}{:>10}{:>10}{:>10}\n",
                                 fmt::format("depth, {} frames, {} pixels", run.frames, run.pixels),
                                 "AbsRel", "d<1.25", "d<1.25^2", "d<1.25^3");
  text += DepthRow(fmt::format("run ({})", scale), run);
  text += DepthRow("baseline: constant depth", e.depth.constant);
  if (!e.surface.problem.empty()) {
    return text + fmt::format("surface not compared: {}\n", e.surface.problem);
  }
  const SurfaceReport& surface = e.surface;
  const std::string most = std::isfinite(surface.percentile_90)
                               ? fmt::format("90 % within {:.4g}", surface.percentile_90)
                               : "more than 10 % outside of the picture";
  return text + fmt::format(
                    "points to the true surface, part of depth: median {:.4g}, {} ({} "
                    "points, {} outside)\n",
                    surface.median, most, surface.points, surface.outside);
}

}  // namespace

Json EvaluationJson(const Evaluation& evaluation, const EvaluationOptions& options,
                    const EvaluationNames& names) {
  const auto matched = static_cast<int64_t>(evaluation.association.matches.size());
  Json depth = {{"problem", evaluation.depth.problem}};
  if (evaluation.depth.problem.empty()) {
    depth = DepthErrorsJson(evaluation.depth.run);
    depth["scaling"] = NameOf(options.depth_scaling);
  }
  return {{"run", names.run},
          {"ground_truth", names.truth},
          {"ground_truth_format", names.truth_format},
          {"association",
           {{"by", NameOf(evaluation.association.by)},
            {"tolerance", options.tolerance},
            {"matched", matched},
            {"run_poses", evaluation.run_poses},
            {"truth_poses", evaluation.truth_poses},
            {"run_unmatched", evaluation.run_poses - matched},
            {"truth_unmatched", evaluation.truth_poses - matched}}},
          {"path_length", evaluation.path_length},
          {"ate",
           {{"sim3", AlignmentJson(evaluation.sim3, evaluation.path_length)},
            {"se3", AlignmentJson(evaluation.se3, evaluation.path_length)}}},
          {"rotation_aligned_deg", StatisticsJson(evaluation.rotation)},
          {"rotation_from_first_deg", StatisticsJson(evaluation.rotation_from_first)},
          {"rpe", RelativeJson(evaluation, options.all_pairs)},
          {"auc", AccuracyJson(evaluation.accuracy)},
          {"depth", depth},
          {"surface", SurfaceJson(evaluation.surface)},
          {"baselines", BaselinesJson(evaluation)},
          {"warnings", evaluation.warnings}};
}

std::string EvaluationText(const Evaluation& evaluation, const EvaluationOptions& options,
                           const EvaluationNames& names) {
  const size_t matched = evaluation.association.matches.size();
  std::string text = fmt::format(
      "{} against {} ({})\n"
      "matched {} of the run's {} poses and of the {} true ones, by {}; true path {:.4g}\n",
      names.run, names.truth, names.truth_format, matched, evaluation.run_poses,
      evaluation.truth_poses, NameOf(evaluation.association.by), evaluation.path_length);
  return text + PositionRows(evaluation) + RotationRows(evaluation) +
         RelativeRows(evaluation, options.all_pairs) + DepthRows(evaluation, options.depth_scaling);
}

}  // namespace lingbot
