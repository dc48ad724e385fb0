#ifndef LINGBOT_OUTPUT_DEPTH_IMAGE_H_
#define LINGBOT_OUTPUT_DEPTH_IMAGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lingbot {

// Depth as whole multiples of `unit`: depth = value * unit. 0 = no valid depth (NaN, infinite, zero
// or negative); a valid depth below half a unit becomes 1, one above 65535 units 65535.
struct QuantizedDepth {
  std::vector<uint16_t> values;
  int64_t invalid = 0;
  int64_t saturated = 0;  // too far for 65535 units
};

QuantizedDepth QuantizeDepth(std::span<const float> depth, double unit);

// A unit for a whole run, from one frame: 65535 units are 8 times the depth that 99 % of the
// frame's valid pixels do not exceed, because later frames may look farther and a few wild pixels
// (sky) must not coarsen the rest. One unit is then 0.012 % of that depth. Nothing if the frame has
// no valid pixel.
std::optional<double> ChooseDepthUnit(std::span<const float> depth);

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_DEPTH_IMAGE_H_
