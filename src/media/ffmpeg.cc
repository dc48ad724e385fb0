#include "media/ffmpeg.h"

#ifdef LINGBOT_HAVE_DEVICES
extern "C" {
#include <libavdevice/avdevice.h>
}
#endif

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace lingbot::ffmpeg {
namespace {

// Of this thread; FFmpeg opens and reads files on the thread that asks for it.
thread_local std::array<char, 200> first_message{};

void CountError(void* object) {
  const AVClass* type = object == nullptr ? nullptr : *static_cast<const AVClass**>(object);
  if (type == nullptr || std::strcmp(type->class_name, "AVCodecContext") != 0) return;
  void* counter = static_cast<AVCodecContext*>(object)->opaque;
  if (counter != nullptr) ++static_cast<LoggedErrors*>(counter)->count;
}

void Keep(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  CountError(object);
  if (first_message[0] != 0) return;
  std::vsnprintf(first_message.data(), first_message.size(), format, arguments);
}

}  // namespace

void SilenceLog() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(Keep); });
}

void RegisterDevices() {
#ifdef LINGBOT_HAVE_DEVICES
  avdevice_register_all();
#endif
}

void ForgetMessages() { first_message[0] = 0; }

std::string LastMessage() {
  std::string text = first_message.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '.')) {
    text.pop_back();
  }
  // It may quote the file.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 32 || c == 127; }, '?');
  return text;
}

std::string ErrorText(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> buffer{};
  av_strerror(code, buffer.data(), buffer.size());
  std::string text = buffer.data();
  const std::string message = LastMessage();
  return message.empty() ? text : text + " (" + message + ")";
}

const int32_t* DisplayMatrix(const AVStream& stream) {
  constexpr size_t kBytes = 9 * sizeof(int32_t);
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* data =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX);
  if (data == nullptr || data->size < kBytes) return nullptr;
  return reinterpret_cast<const int32_t*>(data->data);
#else
#if LIBAVFORMAT_VERSION_MAJOR >= 59
  size_t size = 0;
#else
  int size = 0;
#endif
  const uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (data == nullptr || static_cast<size_t>(size) < kBytes) return nullptr;
  return reinterpret_cast<const int32_t*>(data);
#endif
}

}  // namespace lingbot::ffmpeg
