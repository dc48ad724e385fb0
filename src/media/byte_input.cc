#include "media/byte_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr int kBufferBytes = 1 << 16;

}  // namespace

ByteInput::ByteInput(const std::filesystem::path& path, const std::string& label)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), owned_(true) {
  if (descriptor_ < 0) {
    const int problem = errno;
    Fail(problem == ENOENT ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable,
         "cannot open {}: {}", label, std::strerror(problem));
  }
  struct stat info {};
  const bool regular = ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) ::close(descriptor_);
  Check(regular, ErrorCode::kFileUnreadable, "cannot read {}: it is no regular file", label);
  size_ = info.st_size;
  MakeContext();
}

ByteInput::ByteInput(int descriptor, Patience* patience)
    : descriptor_(descriptor), owned_(false), patience_(patience) {
  MakeContext();
}

void ByteInput::MakeContext() {
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  context_ = buffer == nullptr ? nullptr
                               : avio_alloc_context(buffer, kBufferBytes, /*write_flag=*/0, this,
                                                    Read, nullptr, seekable() ? Seek : nullptr);
  if (context_ != nullptr) return;
  av_free(buffer);
  if (owned_) ::close(descriptor_);
  throw std::bad_alloc();
}

ByteInput::~ByteInput() {
  av_freep(&context_->buffer);
  avio_context_free(&context_);
  if (owned_) ::close(descriptor_);
}

int ByteInput::Read(void* self, uint8_t* target, int size) {
  auto* input = static_cast<ByteInput*>(self);
  for (;;) {
    if (input->patience_ != nullptr && !WaitForInput(input->descriptor_, input->patience_)) {
      return AVERROR_EXIT;
    }
    const ssize_t count = ::read(input->descriptor_, target, static_cast<size_t>(size));
    if (count > 0) return static_cast<int>(count);
    if (count == 0) return AVERROR_EOF;
    if (errno != EINTR && errno != EAGAIN) return AVERROR(errno);
  }
}

int64_t ByteInput::Seek(void* self, int64_t offset, int whence) {
  auto* input = static_cast<ByteInput*>(self);
  if ((whence & AVSEEK_SIZE) != 0) return input->size_;
  const off_t position = ::lseek(input->descriptor_, offset, whence & ~AVSEEK_FORCE);
  return position < 0 ? AVERROR(errno) : position;
}

}  // namespace lingbot
