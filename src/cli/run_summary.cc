#include "cli/run_summary.h"

#include <fmt/format.h>

#include <cmath>

#include "base/system_memory.h"
#include "cli/names.h"
#include "output/run_folder.h"

namespace lingbot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json ExportedWords(const OutputOptions& output) {
  Json words = Json::array();
  for (const ExportKind kind : output.exports) words.push_back(FormatOf(kind).word);
  return words;
}

Json CloudJson(const PointCloudOptions& cloud) {
  Json json = {{"conf", cloud.filter.confidence_quantile},
               {"voxel", cloud.voxel_size},
               {"max_points", cloud.point_budget}};
  if (cloud.filter.min_confidence) {
    json.erase("conf");
    json["conf_threshold"] = *cloud.filter.min_confidence;
  }
  return json;
}

Json OptionsJson(const RunOptions& options, const RunPlan& plan) {
  const ModelInfo& model = plan.checkpoint.model;
  const auto or_model = [](int value, int fallback) { return value > 0 ? value : fallback; };
  Json json = {
      {"mode", plan.windows ? "windowed" : "streaming"},
      {"scale_frames", plan.session.scale_frames},
      {"window", or_model(plan.session.sliding_window, model.sliding_window)},
      {"keyframes", plan.session.keyframe_motion > 0 ? "motion" : "interval"},
      {"keyframe_interval", plan.session.keyframe_interval},
      {"keyframe_motion", plan.session.keyframe_motion},
      {"keyframe_max_gap", plan.session.keyframe_max_gap},
      {"camera_iterations", or_model(plan.session.camera_iterations, model.camera_iterations)},
      {"trajectory_frames", plan.session.trajectory_frames},
      {"strict", plan.session.strict},
      {"stride", options.stride},
      {"max_frames", options.max_frames},
      {"frames_per_second", options.frames_per_second},
      {"start", options.start},
      {"end", std::isinf(options.end) ? Json(nullptr) : Json(options.end)},
      {"skip_bad", options.skip_bad},
      {"precision", NameOf(model.precision)},
      {"device", DeviceOf(model)},
      {"attention", NameOf(ResolveAttention(model, plan.session))},
      {"threads", ThreadTeam(plan.session.threads).size()},
      {"memory_limit", options.memory_limit},
      {"ply", options.output.ply},
      {"depth", options.output.frames.depth_npy},
      {"images", options.output.frames.images},
      {"exports", ExportedWords(options.output)},
      {"cloud", CloudJson(options.output.cloud)},
  };
  if (plan.windows) {
    json["window_size"] = plan.windows->window_size;
    json["overlap_keyframes"] = plan.windows->overlap_keyframes;
    json["overlap_frames"] = plan.windows->overlap_frames;
  }
  return json;
}

Json FilesJson(const RunOptions& options, const RunReport& report) {
  Json files = {{"manifest", kManifestName},
                {"frame_records", kFramesName},
                {"trajectory", kTrajectoryName},
                {"confidence", kConfidenceFolder}};
  if (options.output.frames.depth_npy) files["depth"] = kDepthFolder;
  if (options.output.frames.images) files["images"] = kImagesFolder;
  if (options.output.ply && report.points > 0) files["cloud"] = kPlyName;
  const Json exports = ExportsJson(report.exports);
  if (!exports.empty()) files["exports"] = exports;
  return files;
}

Json StagesJson(const StageTimes& stages) {
  return {{"tokens", stages.tokens / 1000},
          {"frame_blocks", stages.frame_blocks / 1000},
          {"global_attention", stages.global_attention / 1000},
          {"global_other", stages.global_other / 1000},
          {"camera", stages.camera / 1000},
          {"depth", stages.depth / 1000}};
}

}  // namespace

RunInfo RunInfoOf(const RunOptions& options, const RunPlan& plan) {
  RunInfo info;
  info.input = InputLabel(options.input);
  info.model_name = options.model;
  info.weights_hash = plan.weights_hash;
  info.input_fingerprint = plan.input_fingerprint;
  info.options = OptionsJson(options, plan);
  const bool crop = plan.preprocess.mode == ResizeMode::kCrop;
  info.preprocessing = {{"mode", crop ? "crop" : "pad"},
                        {"image_size", plan.preprocess.image_size},
                        {"patch_size", plan.preprocess.patch_size},
                        {"width", plan.size.out_width},
                        {"height", plan.size.out_height},
                        {"resize", "bicubic, antialiased, 8 bits"}};
  if (!crop) info.preprocessing["padding"] = "white for the network, depth 0 in the results";
  return info;
}

Json TimesJson(const RunTimes& times, int64_t frames, double load_seconds, bool windowed) {
  Json json = {{"load", load_seconds},
               {"decode", times.decode},
               {"preprocess", times.preprocess},
               {"network", times.network},
               {"write", times.write}};
  if (!windowed) json["network_stages"] = StagesJson(times.stages);
  if (frames > 0) {
    json["seconds_per_frame"] = (times.decode + times.preprocess + times.network + times.write) /
                                static_cast<double>(frames);
  }
  return json;
}

Json HealthJson(const TrackingHealth& tracking) {
  const TrackingHealth::Summary& health = tracking.summary();
  return {{"frames", health.frames},
          {"degraded_at", health.degraded_at ? Json(*health.degraded_at) : Json(nullptr)},
          {"warning", tracking.warning()},
          {"leaps", health.leaps},
          {"low_confidence", health.low_confidence},
          {"not_finite", health.not_finite},
          {"largest_step", health.largest_step},
          {"lowest_confidence", health.lowest_confidence}};
}

Json WindowsJson(const std::vector<WindowTransform>& transforms) {
  if (transforms.empty()) return nullptr;
  Json json = Json::array();
  for (const WindowTransform& transform : transforms) {
    json.push_back({{"first_frame", transform.first_frame},
                    {"scale", transform.scale},
                    {"rotation", transform.world_from_window.rotation},
                    {"center", transform.world_from_window.center}});
  }
  return json;
}

Json MemoryJson(const MemoryPlan& plan, uint64_t own) {
  return {{"total", plan.total() + own},
          {"weights", plan.weights},
          {"patch_cache", plan.patch_cache},
          {"specials", plan.specials},
          {"camera_cache", plan.camera_cache},
          {"workspace", plan.workspace},
          {"frames", plan.results},
          {"runtime", plan.runtime},
          {"program", own}};
}

Json SummaryJson(const RunOptions& options, const RunPlan& plan, const Outcome& outcome,
                 const RunReport& report, const Json& times) {
  Json json = {{"status", NameOf(outcome.status)},
               {"out", options.out},
               {"frames", report.frames},
               {"planned_frames", plan.frames},
               {"keyframes", report.keyframes},
               {"points", report.points},
               {"width", plan.size.out_width},
               {"height", plan.size.out_height},
               {"options", OptionsJson(options, plan)},
               {"files", FilesJson(options, report)},
               {"seconds", times},
               {"planned_memory", MemoryJson(plan.memory, plan.own_memory)},
               {"peak_resident_bytes", PeakResidentMemory()},
               {"warnings", report.warnings}};
  if (!report.cloud_problem.empty()) json["cloud_problem"] = report.cloud_problem;
  if (!outcome.message.empty()) {
    json["error"] = {{"code", ErrorCodeName(outcome.code)}, {"message", outcome.message}};
    if (outcome.status == Outcome::Status::kInterrupted) json["error"]["code"] = "INTERRUPTED";
  }
  return json;
}

std::string SummaryText(const RunOptions& options, const RunPlan& plan, const RunReport& report,
                        const Json& times) {
  // Of a video or a camera the number was not known exactly before.
  const std::string of_all = plan.frames_exact ? fmt::format(" of {}", plan.frames) : "";
  std::string text = fmt::format("{}{} frames ({} stored) in {}\n", report.frames, of_all,
                                 report.keyframes, options.out);
  text += fmt::format("  {:<22}{} poses\n", kTrajectoryName, report.frames);
  if (options.output.frames.depth_npy) {
    text += fmt::format("  {:<22}{} frames of {}x{}\n", "depth/", report.frames,
                        plan.size.out_width, plan.size.out_height);
  }
  text += fmt::format("  {:<22}{} frames\n", "confidence/", report.frames);
  if (options.output.frames.images) {
    text += fmt::format("  {:<22}{} frames\n", "images/", report.frames);
  }
  for (const ExportedFiles& exported : report.exports) {
    for (const std::string& file : exported.files) {
      text += exported.kind == ExportKind::kPly
                  ? fmt::format("  {:<22}{} points\n", file, report.points)
                  : fmt::format("  {:<22}{}\n", file, FormatOf(exported.kind).word);
    }
  }
  text += fmt::format("  {:<22}one record a frame\n  {:<22}options, conventions, model\n",
                      kFramesName, kManifestName);
  if (report.frames > 0) {
    const auto n = static_cast<double>(report.frames);
    text += fmt::format(
        "seconds per frame {:.3g}: decode {:.3g}, preprocess {:.3g}, network {:.3g}, write "
        "{:.3g}\n",
        times["seconds_per_frame"].get<double>(), times["decode"].get<double>() / n,
        times["preprocess"].get<double>() / n, times["network"].get<double>() / n,
        times["write"].get<double>() / n);
  }
  return text + fmt::format("peak memory {}; the scale of the map is relative, not metres\n",
                            FormatBytes(PeakResidentMemory()));
}

}  // namespace lingbot::cli
