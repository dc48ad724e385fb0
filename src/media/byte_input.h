#ifndef LINGBOT_MEDIA_BYTE_INPUT_H_
#define LINGBOT_MEDIA_BYTE_INPUT_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "media/ffmpeg.h"
#include "media/patience.h"

namespace lingbot {

// A file, or a descriptor that may be a pipe, for FFmpeg to read. That it is opened here keeps
// FFmpeg from giving a meaning to names such as "concat:a|b" or "http:x.mp4".
class ByteInput {
 public:
  // `label` stands for the file in messages. Throws kFileNotFound, or kFileUnreadable for what is
  // no regular file.
  ByteInput(const std::filesystem::path& path, const std::string& label);

  // Reads a pipe or the like as long as `patience`, which must outlive the object, is not over. The
  // descriptor stays open.
  ByteInput(int descriptor, Patience* patience);

  ~ByteInput();
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  AVIOContext* context() const { return context_; }
  bool seekable() const { return size_ >= 0; }
  int64_t size() const { return size_; }  // bytes; -1 for a pipe

 private:
  static int Read(void* self, uint8_t* target, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);
  void MakeContext();

  int descriptor_;
  bool owned_;
  int64_t size_ = -1;
  Patience* patience_ = nullptr;
  AVIOContext* context_ = nullptr;
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_BYTE_INPUT_H_
