#ifndef LINGBOT_MEDIA_ORIENTATION_H_
#define LINGBOT_MEDIA_ORIENTATION_H_

#include <cstdint>

#include "media/image.h"

namespace lingbot {

// EXIF tag 0x0112: where the stored first row and first column lie in the upright image.
enum class Orientation : uint8_t {
  kUpright = 1,          // row 0 at the top, column 0 at the left
  kMirrored = 2,         // top, right
  kUpsideDown = 3,       // bottom, right
  kFlipped = 4,          // bottom, left
  kTransposed = 5,       // left, top
  kTurnClockwise = 6,    // right, top: to be turned clockwise by a quarter
  kTransverse = 7,       // right, bottom
  kTurnCounterwise = 8,  // left, bottom: to be turned counter-clockwise by a quarter
};

// Whether the orientation exchanges width and height.
inline bool SwapsSides(Orientation orientation) { return orientation >= Orientation::kTransposed; }

// Makes the image upright.
void ApplyOrientation(Orientation orientation, Image* image);

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_ORIENTATION_H_
