#include "cli/frame_queue.h"

#include <cmath>
#include <utility>

namespace lingbot::cli {
namespace {

// planar: [3, pixels] in [0, 1], byte / 255 as preprocessing made it; the bytes come back exactly.
void Interleave(const float* planar, size_t pixels, std::vector<uint8_t>* rgb) {
  rgb->resize(3 * pixels);
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t i = 0; i < pixels; ++i) {
      (*rgb)[3 * i + channel] =
          static_cast<uint8_t>(std::lround(planar[channel * pixels + i] * 255.0f));
    }
  }
}

}  // namespace

void FrameQueue::Push(const Image& image, const PreprocessedFrame& frame) {
  PendingFrame pending;
  if (!spare_.empty()) {
    pending = std::move(spare_.back());
    spare_.pop_back();
  }
  pending.name = image.name;
  pending.source_index = image.source_index;
  pending.timestamp = image.timestamp;
  pending.mapping = {image.width,           image.height,           frame.mapping.scale_x,
                     frame.mapping.scale_y, frame.mapping.offset_x, frame.mapping.offset_y};
  Interleave(frame.pixels.data<float>(), size_t{1} * frame.height * frame.width, &pending.rgb);
  frames_.push_back(std::move(pending));
}

void FrameQueue::Pop() {
  spare_.push_back(std::move(frames_.front()));
  frames_.pop_front();
}

}  // namespace lingbot::cli
