#ifndef LINGBOT_MEDIA_DEMUXER_H_
#define LINGBOT_MEDIA_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "media/byte_input.h"
#include "media/ffmpeg.h"
#include "media/patience.h"

namespace lingbot {

// An input that FFmpeg opens by itself: a network address or a device.
struct StreamTarget {
  std::string address;
  std::string format;  // the demuxer's name; "" = by content, from the list of containers
  std::vector<std::pair<std::string, std::string>> options;  // FFmpeg's, for opening
  bool device = false;
};

// The packets of a container's video stream.
class Demuxer {
 public:
  // Reads the header. Only containers of a fixed list are taken, and nothing that the file refers
  // to is ever opened. `label` stands for the file in messages. Throws kUnsupportedFormat (no
  // video, more than max_pixels), kCorruptFile (empty, damaged, cut off before its index).
  Demuxer(std::unique_ptr<ByteInput> input, std::string label, int64_t max_pixels);

  // The same of a pipe: `format` is the demuxer's name, "" = by content; `rate` in frames per
  // second for streams without times, 0 = FFmpeg's choice.
  Demuxer(std::unique_ptr<ByteInput> input, std::string label, int64_t max_pixels,
          const std::string& format, double rate);

  // Opens an address or a device; `patience` must outlive the object. Throws kFileUnreadable with
  // the reason if that fails, else as above.
  Demuxer(const StreamTarget& target, std::string label, int64_t max_pixels, Patience* patience);

  // The names of the containers that are taken, with commas between them.
  static std::string ContainerList();

  // The next packet of the video stream; false at the end.
  bool Read(AVPacket* packet);

  // Moves to a point from which the frame at `seconds` can be decoded; false if the container
  // cannot.
  bool Seek(double seconds);

  const AVStream& stream() const { return *stream_; }
  const std::string& label() const { return label_; }

  // Of a time stamp of the stream: seconds since the beginning of the video.
  double SecondsOf(int64_t timestamp) const;
  double tick() const { return av_q2d(stream_->time_base); }  // seconds
  double nominal_rate() const;  // frames per second as the header says; 25 if it does not

  // Whether an address is of something with an end, as a file on a server is.
  bool finite() const { return context_->pb != nullptr && avio_size(context_->pb) > 0; }

  // The error that ended the packets before the end of the file; "" if none did.
  const std::string& failure() const { return failure_; }

 private:
  ffmpeg::InputFormat* Probe() const;
  void Open(ffmpeg::InputFormat* format, double rate, int64_t max_pixels);
  void Adopt(AVFormatContext* context, int64_t max_pixels);
  void Finish(int64_t max_pixels);
  void ChooseStream();
  int ReadPacket(AVPacket* packet);
  void CheckStream(int64_t max_pixels) const;
  void CheckSize(const AVCodecParameters& codec, int64_t max_pixels) const;

  std::unique_ptr<ByteInput> input_;  // nullptr: FFmpeg has opened it
  std::string label_;
  Patience* patience_ = nullptr;
  ffmpeg::Owned<AVFormatContext> context_;
  const AVStream* stream_ = nullptr;
  double origin_ = 0;            // seconds of the container's clock
  bool lengthless_end_ = false;  // a server has ended an answer of unknown length
  std::string failure_;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_DEMUXER_H_
