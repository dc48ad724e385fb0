#include "media/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace lingbot {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

void ReadFile(const std::filesystem::path& path, std::string_view name,
              std::vector<std::byte>* bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int problem = errno;
    Fail(problem == ENOENT ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable,
         "cannot open {}: {}", name, std::strerror(problem));
  }
  struct stat info {};
  Check(::fstat(file.get(), &info) == 0, ErrorCode::kFileUnreadable, "cannot read {}: {}", name,
        std::strerror(errno));
  Check(S_ISREG(info.st_mode), ErrorCode::kFileUnreadable, "cannot read {}: it is no regular file",
        name);
  const auto size = static_cast<uint64_t>(info.st_size);
  Check(size <= kMaxBytes, ErrorCode::kFileUnreadable, "{}: {} bytes are too many for an image",
        name, size);
  bytes->resize(size);
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t count = ::read(file.get(), bytes->data() + done, bytes->size() - done);
    if (count < 0 && errno == EINTR) continue;
    Check(count >= 0, ErrorCode::kFileUnreadable, "cannot read {}: {}", name, std::strerror(errno));
    if (count == 0) bytes->resize(done);  // shortened since fstat
    done += static_cast<size_t>(count);
  }
}

}  // namespace lingbot
