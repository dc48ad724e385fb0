#ifndef LINGBOT_GEOMETRY_POINT_FILTER_H_
#define LINGBOT_GEOMETRY_POINT_FILTER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lingbot {

// Which pixels may become points. Pixels whose depth is not finite and positive, and pixels whose
// confidence is not finite, never do.
struct PointFilterOptions {
  // Drops the part `confidence_quantile` of lowest confidence, in [0, 1): 0.5 keeps the upper half,
  // 0 everything. See PointCloudBuilder for what the quantile is taken over. Ties with the
  // threshold are kept, so something always remains.
  double confidence_quantile = 0.5;
  // If set, replaces the quantile: keeps confidence >= this.
  std::optional<float> min_confidence;
  // If > 0, drops pixels whose depth differs from a valid neighbour's (left, right, above, below)
  // by more than this part of the smaller of the two; e.g. 0.05. Such pixels straddle an outline
  // and float in space.
  double depth_edge = 0.0;
  // Drops the part `distance_quantile`, in [0, 1), of the points that passed the confidence filter:
  // those farthest from the camera that saw them (length of the ray). Taken over the whole stream,
  // as the confidence quantile; n points leave the ceil((1 - quantile) * n) nearest, and ties.
  double distance_quantile = 0.0;
};

// Throws kInvalidArgument.
void CheckPointFilterOptions(const PointFilterOptions& options);

bool IsUsableDepth(float depth);  // finite and positive

// True for the pixels that `tolerance` (see PointFilterOptions::depth_edge) calls edges. depth is
// [height, width]; the pixel itself must be usable.
bool IsDepthEdge(std::span<const float> depth, int height, int width, int row, int column,
                 double tolerance);

// Element floor(quantile * n) of the sorted values; the order of `values` is changed. `values` must
// not be empty or hold NaN; quantile in [0, 1).
float QuantileOf(std::vector<float>& values, double quantile);

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_POINT_FILTER_H_
