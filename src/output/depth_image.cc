#include "output/depth_image.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "geometry/point_filter.h"

namespace lingbot {
namespace {

constexpr double kLargestValue = 65535.0;
constexpr double kHeadroom = 8.0;
constexpr double kQuantile = 0.99;

}  // namespace

QuantizedDepth QuantizeDepth(std::span<const float> depth, double unit) {
  Check(std::isfinite(unit) && unit > 0.0, ErrorCode::kInvalidArgument,
        "the unit of the depth images is {}, but must be positive and finite", unit);
  QuantizedDepth result;
  result.values.reserve(depth.size());
  for (const float value : depth) {
    if (!IsUsableDepth(value)) {
      ++result.invalid;
      result.values.push_back(0);
      continue;
    }
    const double units = std::nearbyint(value / unit);
    if (units > kLargestValue) ++result.saturated;
    result.values.push_back(static_cast<uint16_t>(std::clamp(units, 1.0, kLargestValue)));
  }
  return result;
}

std::optional<double> ChooseDepthUnit(std::span<const float> depth) {
  std::vector<float> usable;
  std::copy_if(depth.begin(), depth.end(), std::back_inserter(usable), IsUsableDepth);
  if (usable.empty()) return std::nullopt;
  return QuantileOf(usable, kQuantile) * kHeadroom / kLargestValue;
}

}  // namespace lingbot
