#include "geometry/point_filter.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lingbot {

void CheckPointFilterOptions(const PointFilterOptions& options) {
  Check(options.confidence_quantile >= 0.0 && options.confidence_quantile < 1.0,
        ErrorCode::kInvalidArgument,
        "the confidence quantile is {}, but must be at least 0 (keep all) and below 1; 0.5 keeps "
        "the upper "
        "half",
        options.confidence_quantile);
  Check(!options.min_confidence || std::isfinite(*options.min_confidence),
        ErrorCode::kInvalidArgument, "the confidence threshold is not a finite number");
  Check(options.depth_edge >= 0.0 && std::isfinite(options.depth_edge), ErrorCode::kInvalidArgument,
        "the depth edge tolerance is {}, but must be 0 (off) or a positive part of the depth such "
        "as 0.05",
        options.depth_edge);
  Check(
      options.distance_quantile >= 0.0 && options.distance_quantile < 1.0,
      ErrorCode::kInvalidArgument,
      "the distance quantile is {}, but must be at least 0 (keep all) and below 1; 0.05 drops the "
      "farthest twentieth",
      options.distance_quantile);
}

bool IsUsableDepth(float depth) { return std::isfinite(depth) && depth > 0.0f; }

bool IsDepthEdge(std::span<const float> depth, int height, int width, int row, int column,
                 double tolerance) {
  const double center = depth[static_cast<size_t>(row) * width + column];
  constexpr int kSteps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  for (const auto& step : kSteps) {
    const int r = row + step[0];
    const int c = column + step[1];
    if (r < 0 || r >= height || c < 0 || c >= width) continue;
    const float neighbour = depth[static_cast<size_t>(r) * width + c];
    if (!IsUsableDepth(neighbour)) continue;
    const double smaller = std::min<double>(center, neighbour);
    if (std::abs(center - neighbour) > tolerance * smaller) return true;
  }
  return false;
}

float QuantileOf(std::vector<float>& values, double quantile) {
  Check(!values.empty(), ErrorCode::kInternal, "a quantile of no values was asked for");
  const auto rank = static_cast<size_t>(quantile * static_cast<double>(values.size()));
  const auto element =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
  std::nth_element(values.begin(), element, values.end());
  return *element;
}

}  // namespace lingbot
