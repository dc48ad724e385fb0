#ifndef LINGBOT_MEDIA_LIVE_SOURCE_H_
#define LINGBOT_MEDIA_LIVE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/frame_selector.h"
#include "media/frame_source.h"

namespace lingbot {

struct LiveOptions {
  Sampling sampling;           // times count from the first frame
  int width = 0, height = 0;   // cameras: pixels asked for; 0 = the camera's choice
  double rate = 0;             // frames per second asked of a camera, or of streams without times
  double timeout = 10;         // seconds of silence that end the wait; 0 = for ever
  int reconnects = 3;          // of a network stream, in a row
  double reconnect_pause = 1;  // seconds
  int64_t max_pixels = 8192 * 8192;
  std::function<void(const std::string&)> log;  // from the thread that calls Next
};

// Where frames come from as they are made.
struct LiveInput {
  enum class Kind { kAddress, kDevice, kDescriptor };
  Kind kind = Kind::kAddress;
  std::string address;  // rtsp://..., http://..., /dev/video0
  std::string format;   // FFmpeg's name of the container or the kind of device; "" = by content
  int descriptor = -1;  // stays open
  std::string label;    // for messages
};

// Whether `text` is a network address of a kind that is read: rtsp, rtsps, rtmp, http, https, srt,
// udp, tcp.
bool IsStreamAddress(const std::string& text);

// Frames of a camera, a network stream or a pipe, of unknown number. Image::timestamp counts from
// the first frame; after a reconnection it goes on by the clock.
//
// Next ends where the stream ends, and throws kFileUnreadable if nothing has come for too long or
// the connection is lost for good.
class LiveSource : public FrameSource {
 public:
  // Opens nothing yet. Throws kInvalidArgument (options), kUnavailable (a build without FFmpeg).
  LiveSource(LiveInput input, const LiveOptions& options);
  ~LiveSource() override;

  // Connects and waits for the first frame that is used: it alone is returned.
  std::vector<FrameInfo> Verify(const ThreadTeam& team) override;
  std::optional<int64_t> frame_count() const override { return std::nullopt; }
  bool live() const override { return true; }
  bool Next(Image* image) override;
  std::string description() const override;
  std::string problems() const override;
  void Cancel() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_LIVE_SOURCE_H_
