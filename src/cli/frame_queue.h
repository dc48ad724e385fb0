#ifndef LINGBOT_CLI_FRAME_QUEUE_H_
#define LINGBOT_CLI_FRAME_QUEUE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "media/image.h"
#include "output/frame_record.h"
#include "preprocess/preprocess.h"

namespace lingbot::cli {

// What the records of a frame need from its image.
struct PendingFrame {
  std::string name;
  int64_t source_index = 0;
  double timestamp = 0;
  ImageMapping mapping;
  std::vector<uint8_t> rgb;  // [height, width, 3], the resized image
};

// Frames that were given to the session and have not come back: it holds the scale frames and, in
// windowed mode, overlaps. Colours are kept as bytes, and the memory of frames that came back is
// used again.
class FrameQueue {
 public:
  void Push(const Image& image, const PreprocessedFrame& frame);

  // The frame of a result; results come in the order in which frames were pushed. Valid until Pop.
  const PendingFrame& front() const { return frames_.front(); }
  void Pop();

  size_t size() const { return frames_.size(); }

 private:
  std::deque<PendingFrame> frames_;
  std::vector<PendingFrame> spare_;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_FRAME_QUEUE_H_
