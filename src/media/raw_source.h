#ifndef LINGBOT_MEDIA_RAW_SOURCE_H_
#define LINGBOT_MEDIA_RAW_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "media/frame_selector.h"
#include "media/frame_source.h"
#include "media/patience.h"

namespace lingbot {

struct RawOptions {
  Sampling sampling;
  int width = 0, height = 0;
  double rate = 0;      // frames per second: gives the times
  double timeout = 10;  // seconds of silence that end the wait; 0 = for ever
  int64_t max_pixels = 8192 * 8192;
};

// Bare RGB frames (3 bytes a pixel, rows from the top, nothing between frames) from a descriptor
// that stays open: standard input, a pipe. Needs no FFmpeg.
class RawSource : public FrameSource {
 public:
  // Throws kInvalidArgument.
  RawSource(int descriptor, std::string label, const RawOptions& options);

  std::vector<FrameInfo> Verify(const ThreadTeam& team) override;
  std::optional<int64_t> frame_count() const override { return std::nullopt; }
  bool live() const override { return true; }

  // Throws kFileUnreadable if nothing comes for too long. A last frame that is cut off is left out
  // and reported by problems().
  bool Next(Image* image) override;
  std::string description() const override;
  std::string problems() const override;
  void Cancel() override { patience_.Cancel(); }

 private:
  bool ReadFrame();

  int descriptor_;
  std::string label_;
  RawOptions options_;
  Patience patience_;
  FrameSelector selector_;
  std::vector<uint8_t> rgb_;  // [height, width, 3]
  std::optional<Image> peeked_;
  int64_t frames_ = 0;
  size_t rest_ = 0;  // bytes of a frame that was cut off
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_RAW_SOURCE_H_
