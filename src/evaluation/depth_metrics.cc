#include "evaluation/depth_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "evaluation/statistics.h"
#include "geometry/unproject.h"

namespace lingbot {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kNoDepth = std::numeric_limits<float>::quiet_NaN();

// The run's map at a place in its pixel grid.
float SampleAt(const DepthMap& map, double x, double y) {
  const double nearest_x = std::floor(x + 0.5);
  const double nearest_y = std::floor(y + 0.5);
  if (!(nearest_x >= 0 && nearest_y >= 0 && nearest_x < map.width && nearest_y < map.height)) {
    return kNoDepth;
  }
  const float nearest = map.at(static_cast<int>(nearest_x), static_cast<int>(nearest_y));
  const int left = std::clamp(static_cast<int>(std::floor(x)), 0, map.width - 1);
  const int top = std::clamp(static_cast<int>(std::floor(y)), 0, map.height - 1);
  const int right = std::min(left + 1, map.width - 1);
  const int bottom = std::min(top + 1, map.height - 1);
  const float corners[4] = {map.at(left, top), map.at(right, top), map.at(left, bottom),
                            map.at(right, bottom)};
  const auto [least, most] = std::minmax_element(corners, corners + 4);
  const bool smooth = std::all_of(corners, corners + 4, IsDepth) && *most <= 1.1f * *least;
  if (!smooth) return IsDepth(nearest) ? nearest : kNoDepth;
  const double fx = std::clamp(x - left, 0.0, 1.0);
  const double fy = std::clamp(y - top, 0.0, 1.0);
  return static_cast<float>((1 - fy) * ((1 - fx) * corners[0] + fx * corners[1]) +
                            fy * ((1 - fx) * corners[2] + fx * corners[3]));
}

// A frame's pixels with both depths known.
struct FramePixels {
  std::vector<float> run;
  std::vector<float> truth;
};

FramePixels ReadFrame(const DepthPairFiles& pair, double truth_scale) {
  const DepthMap truth = ReadDepthMap(pair.truth, truth_scale);
  const DepthMap run = ReadDepthMap(pair.run.depth, 1.0);
  const std::vector<float> sampled = SampleAtTruth(run, pair.run, truth, pair.truth.string());
  FramePixels pixels;
  for (size_t i = 0; i < sampled.size(); ++i) {
    if (!IsDepth(sampled[i]) || !IsDepth(truth.values[i])) continue;
    pixels.run.push_back(sampled[i]);
    pixels.truth.push_back(truth.values[i]);
  }
  return pixels;
}

// Errors of one predictor, summed over frames.
class ErrorSum {
 public:
  template <typename RunAt>
  void Add(const FramePixels& pixels, RunAt run_at) {
    for (size_t i = 0; i < pixels.truth.size(); ++i) {
      const double ratio = run_at(i) / pixels.truth[i];
      relative_ += std::abs(ratio - 1);
      const double factor = std::max(ratio, 1 / ratio);
      for (int k = 0; k < 3; ++k) below_[k] += factor < std::pow(1.25, k + 1) ? 1 : 0;
    }
    pixels_ += static_cast<int64_t>(pixels.truth.size());
    ++frames_;
  }

  DepthErrors Finish(double scale) const {
    DepthErrors errors;
    errors.frames = frames_;
    errors.pixels = pixels_;
    errors.scale = scale;
    const auto count = static_cast<double>(pixels_);
    errors.abs_rel = relative_ / count;
    for (int k = 0; k < 3; ++k) errors.delta[k] = static_cast<double>(below_[k]) / count;
    return errors;
  }

 private:
  int64_t frames_ = 0;
  int64_t pixels_ = 0;
  double relative_ = 0;
  int64_t below_[3] = {0, 0, 0};
};

// The medians that scale both predictors.
struct Scales {
  double run = kNaN;       // of t / p
  double constant = kNaN;  // of t
};

Scales MedianScales(const FramePixels& pixels) {
  std::vector<double> ratios;
  std::vector<double> depths;
  for (size_t i = 0; i < pixels.truth.size(); ++i) {
    ratios.push_back(static_cast<double>(pixels.truth[i]) / pixels.run[i]);
    depths.push_back(pixels.truth[i]);
  }
  return {Quantile(&ratios, 0.5), Quantile(&depths, 0.5)};
}

// Of all frames together, from every `step`-th pixel.
Scales SequenceScales(std::span<const DepthPairFiles> pairs, double truth_scale) {
  FramePixels all;
  const int64_t share =
      std::max<int64_t>(1, kMostMedianPixels / static_cast<int64_t>(pairs.size()));
  for (const DepthPairFiles& pair : pairs) {
    const FramePixels pixels = ReadFrame(pair, truth_scale);
    const size_t step = (pixels.truth.size() + share - 1) / share;
    for (size_t i = 0; i < pixels.truth.size(); i += step) {
      all.run.push_back(pixels.run[i]);
      all.truth.push_back(pixels.truth[i]);
    }
  }
  return MedianScales(all);
}

// Brings a frame's points in front of the true camera, one a call.
class SurfaceFrame {
 public:
  SurfaceFrame(const DepthPairFiles& pair, const DepthMap& truth, const Similarity& alignment)
      : truth_(truth),
        k_(pair.truth_camera.intrinsics),
        per_x_(static_cast<double>(truth.width) / pair.truth_camera.width),
        per_y_(static_cast<double>(truth.height) / pair.truth_camera.height),
        unproject_(pair.run_pose, pair.run.intrinsics),
        alignment_(alignment),
        pose_(pair.truth_pose) {}

  // Relative distance of a pixel's point, infinite outside, NaN where the truth is unknown.
  double Distance(int u, int v, float depth) const {
    const Eigen::Vector3d world = alignment_ * unproject_(u, v, depth);
    const Eigen::Vector3d camera = pose_.rotation.conjugate() * (world - pose_.center);
    // Nearest pixel of the map, whose centres lie as those of a resized image do.
    const double x = std::floor((k_.fx * camera.x() / camera.z() + k_.cx + 0.5) * per_x_);
    const double y = std::floor((k_.fy * camera.y() / camera.z() + k_.cy + 0.5) * per_y_);
    const bool inside = camera.z() > 0 && x >= 0 && y >= 0 && x < truth_.width && y < truth_.height;
    if (!inside) return std::numeric_limits<double>::infinity();
    const float truth = truth_.at(static_cast<int>(x), static_cast<int>(y));
    return IsDepth(truth) ? std::abs(camera.z() - truth) / truth : kNaN;
  }

 private:
  const DepthMap& truth_;
  Intrinsics k_;
  double per_x_, per_y_;
  Unprojector unproject_;
  Similarity alignment_;
  RigidPose pose_;
};

void AddSurfaceFrame(const DepthPairFiles& pair, double truth_scale, const Similarity& alignment,
                     int64_t share, std::vector<double>* distances) {
  const DepthMap truth = ReadDepthMap(pair.truth, truth_scale);
  const DepthMap run = ReadDepthMap(pair.run.depth, 1.0);
  const SurfaceFrame frame(pair, truth, alignment);
  const auto pixels = static_cast<int64_t>(run.values.size());
  const int64_t step = (pixels + share - 1) / share;
  for (int64_t i = 0; i < pixels; i += step) {
    const float depth = run.values[static_cast<size_t>(i)];
    if (!IsDepth(depth)) continue;
    const double distance =
        frame.Distance(static_cast<int>(i % run.width), static_cast<int>(i / run.width), depth);
    if (!std::isnan(distance)) distances->push_back(distance);
  }
}

}  // namespace

std::vector<float> SampleAtTruth(const DepthMap& run, const RunFrame& frame, const DepthMap& truth,
                                 const std::string& name) {
  const double width = frame.original_width;
  const double height = frame.original_height;
  // A whole number of pixels leaves a little of the proportions.
  const double proportions = width * truth.height / (height * truth.width);
  const double tolerance = 1.0 / std::min(truth.width, truth.height) + 0.01;
  Check(std::abs(proportions - 1) <= tolerance, ErrorCode::kShapeMismatch,
        "{} has {}x{} pixels, which are other proportions than those of the run's images, {}x{}",
        name, truth.width, truth.height, frame.original_width, frame.original_height);
  std::vector<float> sampled;
  sampled.reserve(truth.values.size());
  for (int v = 0; v < truth.height; ++v) {
    const double y = (v + 0.5) * height / truth.height * frame.scale_y + frame.offset_y - 0.5;
    for (int u = 0; u < truth.width; ++u) {
      const double x = (u + 0.5) * width / truth.width * frame.scale_x + frame.offset_x - 0.5;
      sampled.push_back(SampleAt(run, x, y));
    }
  }
  return sampled;
}

DepthReport CompareDepth(std::span<const DepthPairFiles> pairs, double truth_scale,
                         DepthScaling scaling) {
  DepthReport report;
  if (pairs.empty()) {
    report.problem = "no matched frame has depth on both sides";
    return report;
  }
  Scales scales;
  if (scaling != DepthScaling::kFrame) scales = SequenceScales(pairs, truth_scale);
  if (scaling == DepthScaling::kNone) scales.run = 1;
  ErrorSum run;
  ErrorSum constant;
  for (const DepthPairFiles& pair : pairs) {
    const FramePixels pixels = ReadFrame(pair, truth_scale);
    if (pixels.truth.empty()) continue;
    const Scales own = scaling == DepthScaling::kFrame ? MedianScales(pixels) : scales;
    run.Add(pixels, [&](size_t i) { return own.run * pixels.run[i]; });
    constant.Add(pixels, [&](size_t) { return own.constant; });
  }
  report.run = run.Finish(scales.run);
  report.constant = constant.Finish(scales.constant);
  if (report.run.pixels == 0) report.problem = "no pixel has depth on both sides";
  return report;
}

SurfaceReport CompareSurface(std::span<const DepthPairFiles> pairs, double truth_scale,
                             const Similarity& alignment) {
  SurfaceReport report;
  std::vector<double> distances;
  for (const DepthPairFiles& pair : pairs) {
    if (!CanUnproject(pair.run.intrinsics)) continue;
    if (!IsUsableCamera(pair.truth_camera) || pair.truth_camera.distorted) continue;
    const int64_t share =
        std::max<int64_t>(1, kMostMedianPixels / static_cast<int64_t>(pairs.size()));
    AddSurfaceFrame(pair, truth_scale, alignment, share, &distances);
    ++report.frames;
  }
  report.points = static_cast<int64_t>(distances.size());
  if (report.points == 0) {
    report.problem = "no matched frame has depth on both sides and a true pinhole camera";
    return report;
  }
  report.outside = std::count_if(distances.begin(), distances.end(),
                                 [](double distance) { return std::isinf(distance); });
  report.median = Quantile(&distances, 0.5);
  report.percentile_90 = Quantile(&distances, 0.9);
  return report;
}

}  // namespace lingbot
