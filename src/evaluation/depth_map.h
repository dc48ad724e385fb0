#ifndef LINGBOT_EVALUATION_DEPTH_MAP_H_
#define LINGBOT_EVALUATION_DEPTH_MAP_H_

#include <filesystem>
#include <vector>

namespace lingbot {

// Depth along the optical axis, row-major; what is not positive and finite is unknown.
struct DepthMap {
  int height = 0;
  int width = 0;
  std::vector<float> values;  // [height, width]

  float at(int x, int y) const { return values[static_cast<size_t>(y) * width + x]; }
};

inline bool IsDepth(float value) { return value > 0.0f && value < 1e30f; }  // false for NaN

// A 16-bit grey PNG or an NPY array [height, width] of uint16, depth = value * scale with 0
// unknown, or an NPY array of float16, float32 or float64, which holds depth itself. Throws
// kFileNotFound, kFileUnreadable, kUnsupportedFormat, kCorruptFile.
DepthMap ReadDepthMap(const std::filesystem::path& path, double scale);

// Parts of it by format.
DepthMap ReadDepthPng(const std::filesystem::path& path, double scale);
DepthMap ReadDepthNpy(const std::filesystem::path& path, double scale);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_DEPTH_MAP_H_
