#ifndef LINGBOT_MEDIA_VIDEO_DECODER_H_
#define LINGBOT_MEDIA_VIDEO_DECODER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "media/demuxer.h"
#include "media/ffmpeg.h"

namespace lingbot {

// Frames or packets that could not be used.
struct Damage {
  int64_t count = 0;
  std::vector<double> times;  // seconds; of the first few

  void Add(double seconds);
};

// The frames of a demuxer's stream in the order in which they are shown.
class VideoDecoder {
 public:
  // The demuxer must outlive the object. Throws kUnsupportedFormat if the decoder cannot be opened.
  VideoDecoder(Demuxer* demuxer, int threads, int64_t max_pixels);

  // Decodes the next frame; false at the end. Damaged ones are left out and counted.
  bool Next();

  const AVFrame& frame() const { return *frame_; }
  double seconds() const { return seconds_; }  // since the beginning of the video; never goes back
  // Number of the frame since the decoder began, with those that were left out.
  int64_t index() const { return decoded_ + damage_.count - 1; }

  // Of frames from `start` on: what lies before the wanted part may lack its references.
  void CountDamageFrom(double start) { damage_start_ = start; }
  const Damage& damage() const { return damage_; }

 private:
  bool Feed();
  // What the decoder answered for one packet was taken; the rest waits in its threads.
  void Answered();
  size_t PacketsInThreads() const;  // at most, the one just sent included
  // Counts the packet that the decoder has an error for.
  void RefusePacket();
  bool IsDamaged();
  void Stamp();
  void AddDamage(double seconds);
  double PacketSeconds() const;

  Demuxer* demuxer_;
  ffmpeg::LoggedErrors errors_;  // of codec_, which it outlives
  ffmpeg::Owned<AVCodecContext> codec_;
  ffmpeg::Owned<AVPacket> packet_;
  ffmpeg::Owned<AVFrame> frame_;
  bool draining_ = false;
  int64_t decoded_ = 0;
  int failures_in_drain_ = 0;
  bool stamped_ = false;  // a frame has come
  double seconds_ = 0;
  double last_packet_ = 0;          // seconds
  std::deque<double> in_threads_;   // seconds of the packets that its threads hold, and of the next
  bool errors_are_damage_ = false;  // of the codec
  bool broken_chain_ = false;       // since the last packet that stands alone something was damaged
  int64_t errors_before_ = 0;       // the last frame
  double damage_start_ = 0;
  Damage damage_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_VIDEO_DECODER_H_
