#include "geometry/window_alignment.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr float kSmallestDepth = 1.19e-7f;
constexpr double kSmallestScale = 1e-3;
constexpr double kLargestScale = 1e3;

void AppendRatios(const DepthPair& pair, std::vector<float>* ratios) {
  Check(pair.aligned.size() == pair.window.size(), ErrorCode::kShapeMismatch,
        "depths of an overlap frame have {} pixels in one window and {} in the next",
        pair.aligned.size(), pair.window.size());
  for (size_t i = 0; i < pair.window.size(); ++i) {
    const float aligned = pair.aligned[i];
    const float window = pair.window[i];
    if (std::isfinite(aligned) && std::isfinite(window) && std::abs(window) > kSmallestDepth) {
      ratios->push_back(aligned / window);  // may overflow to infinity, which sorts and clamps
    }
  }
}

}  // namespace

double MedianDepthScale(std::span<const DepthPair> pairs) {
  size_t pixels = 0;
  for (const DepthPair& pair : pairs) pixels += pair.window.size();
  std::vector<float> ratios;
  ratios.reserve(pixels);
  for (const DepthPair& pair : pairs) AppendRatios(pair, &ratios);
  if (ratios.empty()) return 1.0;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return std::clamp(static_cast<double>(*middle), kSmallestScale, kLargestScale);
}

WindowAlignment AlignWindow(const PoseEncoding& anchor_aligned, const PoseEncoding& anchor_window,
                            double scale) {
  const RigidPose aligned = RigidPoseOf(anchor_aligned);
  const RigidPose window = RigidPoseOf(anchor_window);
  WindowAlignment result;
  result.scale = scale;
  result.rotation = UnitQuaternion(aligned.rotation * window.rotation.conjugate());
  result.translation = aligned.center - scale * (result.rotation * window.center);
  return result;
}

PoseEncoding AlignPose(const WindowAlignment& alignment, const PoseEncoding& pose) {
  const RigidPose window = RigidPoseOf(pose);
  const RigidPose aligned = {
      alignment.rotation * window.rotation,
      alignment.scale * (alignment.rotation * window.center) + alignment.translation};
  return WithRigidPose(pose, aligned);
}

void AlignDepth(const WindowAlignment& alignment, std::span<float> depth) {
  const float scale = static_cast<float>(alignment.scale);
  for (float& value : depth) value *= scale;
}

std::array<float, 16> TransformMatrix(const WindowAlignment& alignment) {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topLeftCorner<3, 3>() = alignment.rotation.toRotationMatrix();
  matrix.topRightCorner<3, 1>() = alignment.translation;
  std::array<float, 16> result;
  Eigen::Map<Eigen::Matrix<float, 4, 4, Eigen::RowMajor>>(result.data()) = matrix.cast<float>();
  return result;
}

}  // namespace lingbot
