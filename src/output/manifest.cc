#include "output/manifest.h"

#include "output/run_folder.h"

namespace lingbot {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

Json OriginalJson(const Intrinsics& resized, const ImageMapping& mapping) {
  if (!IsUsableMapping(mapping)) return nullptr;
  Json json = IntrinsicsJson(OriginalIntrinsics(resized, mapping));
  json["width"] = mapping.original_width;
  json["height"] = mapping.original_height;
  return json;
}

Json ResizedJson(const Intrinsics& intrinsics, const FrameRecord& record) {
  Json json = IntrinsicsJson(intrinsics);
  json["width"] = record.width;
  json["height"] = record.height;
  return json;
}

Json MappingJson(const ImageMapping& mapping) {
  return {{"scale", {mapping.scale_x, mapping.scale_y}},
          {"offset", {mapping.offset_x, mapping.offset_y}}};
}

}  // namespace

std::string JsonText(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json ConventionsJson() {
  return {
      {"pose", "world_from_camera (camera-to-world): p_world = R(quaternion) * p_camera + center"},
      {"quaternion", "x y z w, unit length, w >= 0"},
      {"axes", "OpenCV: x right, y down, z forward; the point cloud has the same axes (y down)"},
      {"scale", "relative: the unit of length is the model's own, not metres"},
      {"depth", "along the optical axis (z), in the unit of length"},
      {"confidence", "at least 1, larger is better"},
      {"unprojection",
       "p_world = center + R * K^-1 * (u, v, 1) * depth, u = 0..width-1, v = 0..height-1"},
      {"intrinsics",
       "pinhole, pixels; intrinsics_resized for the images the model saw and for the depth maps, "
       "intrinsics_original for the upright source images; in both, pixel centres are at whole "
       "numbers (COLMAP: add 0.5 to cx and cy)"},
      {"mapping",
       "resized = original * scale + offset with pixel corners at whole numbers, which for pixel "
       "centres at whole numbers is original = (resized + 0.5 - offset) / scale - 0.5"},
      {"timestamp", "seconds"},
  };
}

Json IntrinsicsJson(const Intrinsics& intrinsics) {
  return {
      {"fx", intrinsics.fx}, {"fy", intrinsics.fy}, {"cx", intrinsics.cx}, {"cy", intrinsics.cy}};
}

Json FrameJson(const FrameRecord& record, const WrittenFrame& written) {
  const PoseEncoding& pose = record.pose;
  const Intrinsics intrinsics = IntrinsicsOf(record.pose, record.height, record.width);
  Json json = {
      {"index", record.index},
      {"source", record.source_name},
      {"source_index", record.source_index},
      {"timestamp", record.timestamp},
      {"keyframe", record.keyframe},
      {"center", {pose[0], pose[1], pose[2]}},
      {"quaternion", {pose[3], pose[4], pose[5], pose[6]}},
      {"fov", {{"vertical", pose[7]}, {"horizontal", pose[8]}}},
      {"intrinsics_resized", ResizedJson(intrinsics, record)},
      {"intrinsics_original", OriginalJson(intrinsics, record.mapping)},
      {"mapping", MappingJson(record.mapping)},
      {"files", Json::object()},
  };
  for (const auto& [kind, name] : written.files) json["files"][kind] = name;
  if (json["files"].contains("depth_png")) {
    json["depth_png_invalid"] = written.invalid_depths;
    json["depth_png_saturated"] = written.saturated_depths;
  }
  return json;
}

Json PointCloudJson(const PointCloudOptions& options, const PointCloudReport& report,
                    const std::string& problem) {
  Json filter = {{"confidence_quantile", options.filter.confidence_quantile},
                 {"depth_edge", options.filter.depth_edge},
                 {"distance_quantile", options.filter.distance_quantile},
                 {"voxel_size", options.voxel_size},
                 {"point_budget", options.point_budget},
                 {"seed", options.seed}};
  if (options.filter.min_confidence) {
    filter["confidence_quantile"] = nullptr;
    filter["min_confidence"] = *options.filter.min_confidence;
  }
  Json json = {{"points", report.points},
               {"pixels", report.pixels},
               {"candidates", report.candidates},
               {"filter", filter},
               {"confidence_threshold", report.threshold},
               {"confidence",
                {{"min", report.min_confidence},
                 {"median", report.median_confidence},
                 {"max", report.max_confidence}}},
               {"dropped",
                {{"depth", report.dropped_depth},
                 {"mask", report.dropped_mask},
                 {"edge", report.dropped_edge},
                 {"confidence", report.dropped_confidence}}},
               {"frames_without_camera", report.frames_without_camera}};
  if (options.filter.distance_quantile > 0.0) json["farthest_distance"] = report.farthest;
  if (!problem.empty()) json["problem"] = problem;
  return json;
}

Json ManifestHead(const RunInfo& info) {
  Json head = {
      {"format", kRunFormat},
      {"format_version", kFormatVersion},
      {"status", "running"},
      {"library", {{"name", "lingbot-map.cpp"}, {"version", LINGBOT_VERSION}}},
      {"input", info.input},
      {"model", {{"name", info.model_name}, {"weights_hash", info.weights_hash}}},
      {"options", info.options},
      {"preprocessing", info.preprocessing},
      {"conventions", ConventionsJson()},
  };
  if (!info.input_fingerprint.empty()) head["input_fingerprint"] = info.input_fingerprint;
  return head;
}

}  // namespace lingbot
