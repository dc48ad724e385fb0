#ifndef LINGBOT_MEDIA_FFMPEG_H_
#define LINGBOT_MEDIA_FFMPEG_H_

// FFmpeg's C headers, its objects with owners, and the differences between the releases that are
// supported (4.4 to 7.x) in one place.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace lingbot::ffmpeg {

struct Release {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release>;

// Release 5.0 made descriptions of formats and codecs constant.
#if LIBAVFORMAT_VERSION_MAJOR >= 59
using InputFormat = const AVInputFormat;
#else
using InputFormat = AVInputFormat;
#endif

// Keeps FFmpeg from printing, for the process: its messages are kept for LastMessage instead.
void SilenceLog();

// Makes cameras and other devices known, where this build has them.
void RegisterDevices();

// Forgets, and gives, the first error that FFmpeg has logged on this thread since; on one line, ""
// if there was none.
void ForgetMessages();
std::string LastMessage();

// To be a decoder's `opaque`: counts the errors that it logs, on whatever thread of its own.
struct LoggedErrors {
  std::atomic<int64_t> count{0};
};

// What an FFmpeg error code means, followed by LastMessage if there is one.
std::string ErrorText(int code);

// std::bad_alloc for a null pointer.
template <typename T>
T* NotNull(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

// The display matrix of a stream, nullptr if it has none: 9 numbers.
const int32_t* DisplayMatrix(const AVStream& stream);

}  // namespace lingbot::ffmpeg

#endif  // LINGBOT_MEDIA_FFMPEG_H_
