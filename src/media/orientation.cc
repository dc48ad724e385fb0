#include "media/orientation.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace lingbot {
namespace {

// Upright pixel (x, y) lies at origin + x * step_x + y * step_y of the stored pixels.
struct Walk {
  ptrdiff_t origin, step_x, step_y;
};

Walk WalkOf(Orientation orientation, ptrdiff_t width, ptrdiff_t height) {
  const ptrdiff_t right = width - 1, bottom = (height - 1) * width;
  switch (orientation) {
    case Orientation::kMirrored:
      return {right, -1, width};
    case Orientation::kUpsideDown:
      return {right + bottom, -1, -width};
    case Orientation::kFlipped:
      return {bottom, 1, -width};
    case Orientation::kTransposed:
      return {0, width, 1};
    case Orientation::kTurnClockwise:
      return {bottom, -width, 1};
    case Orientation::kTransverse:
      return {right + bottom, -width, -1};
    case Orientation::kTurnCounterwise:
      return {right, width, -1};
    case Orientation::kUpright:
      break;
  }
  return {0, 1, width};
}

}  // namespace

void ApplyOrientation(Orientation orientation, Image* image) {
  if (orientation == Orientation::kUpright) return;
  const Walk walk = WalkOf(orientation, image->width, image->height);
  const ptrdiff_t width = SwapsSides(orientation) ? image->height : image->width;
  const ptrdiff_t height = SwapsSides(orientation) ? image->width : image->height;
  std::vector<uint8_t> upright(image->rgb.size());
  // Square tiles: a quarter turn reads columns, and a tile's rows fit the cache together.
  constexpr ptrdiff_t kTile = 64;
  for (ptrdiff_t top = 0; top < height; top += kTile) {
    for (ptrdiff_t left = 0; left < width; left += kTile) {
      for (ptrdiff_t y = top; y < std::min(top + kTile, height); ++y) {
        for (ptrdiff_t x = left; x < std::min(left + kTile, width); ++x) {
          const ptrdiff_t from = 3 * (walk.origin + x * walk.step_x + y * walk.step_y);
          std::copy_n(&image->rgb[from], 3, &upright[3 * (y * width + x)]);
        }
      }
    }
  }
  image->rgb = std::move(upright);
  image->width = static_cast<int>(width);
  image->height = static_cast<int>(height);
}

}  // namespace lingbot
