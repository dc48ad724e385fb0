#ifndef LINGBOT_MEDIA_BLEND_H_
#define LINGBOT_MEDIA_BLEND_H_

#include <cstddef>
#include <cstdint>

namespace lingbot {

// Pixels with alpha over white: round((c * a + 255 * (255 - a)) / 255). rgba, rgb: `count` pixels.
inline void BlendOntoWhite(const uint8_t* rgba, size_t count, uint8_t* rgb) {
  for (size_t i = 0; i < count; ++i, rgba += 4, rgb += 3) {
    const unsigned alpha = rgba[3];
    const unsigned white = 255 * (255 - alpha) + 127;
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>((rgba[c] * alpha + white) / 255);
  }
}

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_BLEND_H_
