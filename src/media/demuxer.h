#ifndef LINGBOT_MEDIA_DEMUXER_H_
#define LINGBOT_MEDIA_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "media/byte_input.h"
#include "media/ffmpeg.h"

namespace lingbot {

// The packets of a container's video stream.
class Demuxer {
 public:
  // Reads the header. Only containers of a fixed list are taken, and nothing that the file refers
  // to is ever opened. `label` stands for the file in messages. Throws kUnsupportedFormat (no
  // video, more than max_pixels), kCorruptFile (empty, damaged, cut off before its index).
  Demuxer(std::unique_ptr<ByteInput> input, std::string label, int64_t max_pixels);

  // The next packet of the video stream; false at the end.
  bool Read(AVPacket* packet);

  // Moves to a point from which the frame at `seconds` can be decoded; false if the container
  // cannot.
  bool Seek(double seconds);

  const AVStream& stream() const { return *stream_; }
  const std::string& label() const { return label_; }
  const ByteInput& input() const { return *input_; }

  // Of a time stamp of the stream: seconds since the beginning of the video.
  double SecondsOf(int64_t timestamp) const;
  double tick() const { return av_q2d(stream_->time_base); }  // seconds
  double nominal_rate() const;  // frames per second as the header says; 25 if it does not

  // The error that ended the packets before the end of the file; "" if none did.
  const std::string& failure() const { return failure_; }

 private:
  ffmpeg::InputFormat* Probe() const;
  void Open(ffmpeg::InputFormat* format, int64_t max_pixels);
  void ChooseStream();
  void CheckStream(int64_t max_pixels) const;
  void CheckSize(const AVCodecParameters& codec, int64_t max_pixels) const;

  std::unique_ptr<ByteInput> input_;
  std::string label_;
  ffmpeg::Owned<AVFormatContext> context_;
  const AVStream* stream_ = nullptr;
  double origin_ = 0;  // seconds of the container's clock
  std::string failure_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_DEMUXER_H_
