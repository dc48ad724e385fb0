#ifndef LINGBOT_OUTPUT_MASK_SOURCE_H_
#define LINGBOT_OUTPUT_MASK_SOURCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "output/frame_record.h"

namespace lingbot {

// Says which pixels of a frame may become points.
class MaskSource {
 public:
  virtual ~MaskSource() = default;

  // [height, width] of the record, 0 drops the pixel; empty: the frame has no mask. Valid until the
  // next call. Throws the errors of a mask that cannot be read.
  virtual std::span<const uint8_t> MaskOf(const FrameRecord& record) = 0;

  // What is to be said once, at the end, such as frames without a mask.
  virtual std::vector<std::string> Warnings() const = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_MASK_SOURCE_H_
