#ifndef LINGBOT_MEDIA_BYTE_INPUT_H_
#define LINGBOT_MEDIA_BYTE_INPUT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "media/ffmpeg.h"

namespace lingbot {

// A file, or a descriptor that may be a pipe, for FFmpeg to read. That it is opened here keeps
// FFmpeg from giving a meaning to names such as "concat:a|b" or "http:x.mp4".
class ByteInput {
 public:
  // `label` stands for the file in messages. Throws kFileNotFound, or kFileUnreadable for what is
  // neither a regular file nor a pipe or character device.
  ByteInput(const std::filesystem::path& path, const std::string& label);

  // Reads `descriptor`, which stays open. While nothing comes, `stop` is asked four times a second
  // and true ends the input; so does a silence of `timeout` seconds (0 = wait for ever).
  ByteInput(int descriptor, double timeout, std::function<bool()> stop);

  ~ByteInput();
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  AVIOContext* context() const { return context_; }
  bool seekable() const { return size_ >= 0; }
  int64_t size() const { return size_; }  // bytes; -1 for a pipe
  bool timed_out() const { return timed_out_; }

 private:
  static int Read(void* self, uint8_t* target, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);
  bool WaitForData();
  void MakeContext();

  int descriptor_;
  bool owned_;
  int64_t size_ = -1;
  double timeout_ = 0;
  std::function<bool()> stop_;
  bool timed_out_ = false;
  AVIOContext* context_ = nullptr;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_BYTE_INPUT_H_
