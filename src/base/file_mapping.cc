#include "base/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace lingbot {

FileMapping::FileMapping(const std::filesystem::path& path) {
  // Not to wait for the writer of a pipe: what is no regular file is refused below.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable;
    Fail(code, "cannot open {}: {}", path.string(), std::strerror(errno));
  }
  struct stat info {};
  void* mapped = nullptr;
  int problem = 0;
  bool regular = true;
  if (::fstat(fd, &info) != 0) {
    problem = errno;
  } else if (!S_ISREG(info.st_mode)) {
    regular = false;
  } else if (info.st_size > 0) {
    mapped = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) problem = errno;
  }
  ::close(fd);
  Check(regular, ErrorCode::kFileUnreadable, "cannot read {}: it is {}, not a regular file",
        path.string(), S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
  Check(problem == 0, ErrorCode::kFileUnreadable, "cannot read {}: {}", path.string(),
        std::strerror(problem));
  data_ = static_cast<const std::byte*>(mapped);
  size_ = static_cast<size_t>(info.st_size);
}

FileMapping::~FileMapping() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void FileMapping::DropResident(size_t offset, size_t length) const {
  if (data_ == nullptr || offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = offset + std::min(length, size_ - offset);
  const size_t first = (offset + page - 1) / page * page;
  const size_t last = end / page * page;
  if (first < last) {
    ::madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
  }
}

}  // namespace lingbot
