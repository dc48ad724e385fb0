#include "output/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/replace_file.h"

namespace lingbot {
namespace {

constexpr mode_t kMode = 0666;  // less the user's umask

[[noreturn]] void FailWriting(const std::filesystem::path& path, int error) {
  Fail(ErrorCode::kFileUnwritable, "cannot write {}: {}", path.string(),
       std::generic_category().message(error));
}

int OpenForWriting(const std::filesystem::path& path, const std::filesystem::path& shown) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) FailWriting(shown, errno);
  return descriptor;
}

// 0 or the errno of the first failure. Regular files take less than asked for only when the disk is
// nearly full or after a signal; the next call then tells which.
int WriteAll(int descriptor, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor, data, bytes);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += count;
    bytes -= static_cast<size_t>(count);
  }
  return 0;
}

void CheckSize(int descriptor, uint64_t expected, const std::filesystem::path& path) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) FailWriting(path, errno);
  Check(!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) == expected,
        ErrorCode::kFileUnwritable, "{} holds {} bytes although {} were written", path.string(),
        static_cast<uint64_t>(status.st_size), expected);
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(ReplaceableFile(path)),
      temporary_(path_.parent_path() / fmt::format(".{}.partial", path_.filename().string())) {
  descriptor_ = OpenForWriting(temporary_, path_);
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Discard() noexcept {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  descriptor_ = -1;
  ::unlink(temporary_.c_str());
}

void OutputFile::Write(const void* data, size_t bytes) {
  Check(descriptor_ >= 0, ErrorCode::kInternal, "{} was written to after its end", path_.string());
  const int error = WriteAll(descriptor_, static_cast<const char*>(data), bytes);
  if (error != 0) FailWriting(path_, error);
  written_ += bytes;
}

void OutputFile::Commit() {
  Check(descriptor_ >= 0, ErrorCode::kInternal, "{} was finished twice", path_.string());
  CheckSize(descriptor_, written_, path_);
  // Network file systems report a full disk on close.
  const int closed = ::close(std::exchange(descriptor_, -1));
  const int close_error = closed != 0 && errno != EINTR ? errno : 0;
  if (close_error != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = close_error != 0 ? close_error : errno;
    ::unlink(temporary_.c_str());
    FailWriting(path_, error);
  }
}

void SyncFileSystem(const std::filesystem::path& folder) noexcept {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::syncfs(descriptor);
  ::close(descriptor);
}

void WriteFile(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.Write(bytes.data(), bytes.size());
  file.Commit();
}

void WriteFile(const std::filesystem::path& path, std::string_view text) {
  WriteFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

LineFile::LineFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = OpenForWriting(path_, path_);
}

LineFile::LineFile(std::filesystem::path path, uint64_t size)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDWR | O_CLOEXEC)), size_(size) {
  if (descriptor_ < 0) FailWriting(path_, errno);
  try {
    const auto end = static_cast<off_t>(size);
    struct stat status;
    char last = 0;
    const bool whole =
        ::fstat(descriptor_, &status) == 0 && status.st_size >= end &&
        (size == 0 || (::pread(descriptor_, &last, 1, end - 1) == 1 && last == '\n'));
    Check(whole, ErrorCode::kCorruptFile,
          "{} does not have a line's end after {} bytes, as it had when the run was saved",
          path_.string(), size);
    if (::ftruncate(descriptor_, end) != 0 || ::lseek(descriptor_, end, SEEK_SET) != end) {
      FailWriting(path_, errno);
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

LineFile::~LineFile() { ::close(descriptor_); }

void LineFile::Append(std::string_view line) {
  std::string text(line);
  text += '\n';
  const int error = WriteAll(descriptor_, text.data(), text.size());
  if (error != 0) {
    const auto end = static_cast<off_t>(size_);
    if (::ftruncate(descriptor_, end) == 0) ::lseek(descriptor_, end, SEEK_SET);
    FailWriting(path_, error);
  }
  size_ += text.size();
}

void LineFile::Verify() const { CheckSize(descriptor_, size_, path_); }

}  // namespace lingbot
