#include "base/checked_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/replace_file.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMagicBytes = 8;
constexpr size_t kHeaderBytes = 40;
constexpr size_t kCheckedBytes = 32;  // of the header
constexpr mode_t kMode = 0666;        // less the user's umask

using Header = std::array<char, kHeaderBytes>;

template <typename T>
void SetField(Header* header, size_t offset, T value) {
  std::memcpy(header->data() + offset, &value, sizeof(value));
}

template <typename T>
T FieldOf(const Header& header, size_t offset) {
  T value;
  std::memcpy(&value, header.data() + offset, sizeof(value));
  return value;
}

uint64_t HashOfHeader(const Header& header) {
  XxHash64 hash;
  hash.Add(header.data(), kCheckedBytes);
  return hash.value();
}

Header MakeHeader(const CheckedFileKind& kind, uint64_t contents, uint64_t hash) {
  Header header{};
  std::copy_n(kind.magic, kMagicBytes, header.begin());
  SetField(&header, 8, kind.version);
  SetField(&header, 16, contents);
  SetField(&header, 24, hash);
  SetField(&header, 32, HashOfHeader(header));
  return header;
}

std::string Reason(int error) { return std::generic_category().message(error); }

int OpenRetrying(const fs::path& path, int flags) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kMode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// The rename itself is on the disk only when the folder is. Some file systems cannot say so; the
// file is in its place all the same.
void SyncFolderOf(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int descriptor = OpenRetrying(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

CheckedFileWriter::CheckedFileWriter(const fs::path& path, const CheckedFileKind& kind)
    : kind_(kind),
      path_(ReplaceableFile(path)),
      temporary_(path_.parent_path() / fmt::format(".{}.partial", path_.filename().string())),
      descriptor_(OpenRetrying(temporary_, O_WRONLY | O_CREAT | O_TRUNC)) {
  if (descriptor_ < 0) FailWriting(errno);
  buffer_.reserve(kBufferBytes);
  buffer_.resize(kHeaderBytes);  // filled in by Commit
}

CheckedFileWriter::~CheckedFileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void CheckedFileWriter::FailWriting(int error) const {
  Fail(ErrorCode::kFileUnwritable, "cannot write {}: {}", path_.string(), Reason(error));
}

void CheckedFileWriter::Put(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailWriting(errno);
    next += count;
    bytes -= static_cast<size_t>(count);
  }
}

void CheckedFileWriter::FlushBuffer() {
  Put(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void CheckedFileWriter::Write(const void* data, size_t bytes) {
  Check(descriptor_ >= 0, ErrorCode::kInternal, "{} was written to after its end", path_.string());
  hash_.Add(data, bytes);
  contents_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) FlushBuffer();
  if (bytes >= kBufferBytes) return Put(data, bytes);
  const char* begin = static_cast<const char*>(data);
  buffer_.insert(buffer_.end(), begin, begin + bytes);
}

void CheckedFileWriter::Commit() {
  Check(descriptor_ >= 0, ErrorCode::kInternal, "{} was finished twice", path_.string());
  FlushBuffer();
  const Header header = MakeHeader(kind_, contents_, hash_.value());
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) FailWriting(errno);
  Put(header.data(), header.size());
  if (::fsync(descriptor_) != 0) FailWriting(errno);
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) FailWriting(errno);
  Check(static_cast<uint64_t>(status.st_size) == kHeaderBytes + contents_,
        ErrorCode::kFileUnwritable, "{} holds {} bytes although {} were written", path_.string(),
        static_cast<uint64_t>(status.st_size), kHeaderBytes + contents_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) FailWriting(errno);
  ::close(std::exchange(descriptor_, -1));
  SyncFolderOf(path_);
}

CheckedFileReader::CheckedFileReader(const fs::path& path, const CheckedFileKind& kind,
                                     Checking checking)
    : name_(path.string()), descriptor_(OpenRetrying(path, O_RDONLY | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    const int error = errno;
    Check(error != ENOENT, ErrorCode::kFileNotFound, "{} does not exist", name_);
    Fail(ErrorCode::kFileUnreadable, "cannot read {}: {}", name_, Reason(error));
  }
  try {
    struct stat status;
    Check(::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode), ErrorCode::kFileUnreadable,
          "cannot read {}: it is not a regular file", name_);
    buffer_.resize(kBufferBytes);
    ReadHeader(kind);
    Check(static_cast<uint64_t>(status.st_size) - kHeaderBytes == contents_,
          ErrorCode::kCorruptFile,
          "{} is damaged: it has {} bytes, expected {}; it was cut or "
          "something was added to it",
          name_, static_cast<uint64_t>(status.st_size), kHeaderBytes + contents_);
    if (checking == Checking::kWhole) CheckContents();
    Rewind();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

CheckedFileReader::~CheckedFileReader() { ::close(descriptor_); }

// Bytes read; fewer than asked for only at the end of the file.
size_t CheckedFileReader::Get(void* data, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(descriptor_, static_cast<char*>(data) + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      Fail(ErrorCode::kFileUnreadable, "cannot read {}: {}", name_, Reason(errno));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

void CheckedFileReader::ReadHeader(const CheckedFileKind& kind) {
  Header header{};
  const size_t bytes = Get(header.data(), header.size());
  Check(bytes >= kMagicBytes && std::memcmp(header.data(), kind.magic, kMagicBytes) == 0,
        ErrorCode::kUnsupportedFormat, "{} is not {} of this program", name_, kind.words);
  Check(bytes == kHeaderBytes && FieldOf<uint64_t>(header, 32) == HashOfHeader(header),
        ErrorCode::kCorruptFile,
        "{} is damaged: its first {} bytes do not have the checksum "
        "that was written with them",
        name_, kHeaderBytes);
  const auto version = FieldOf<uint32_t>(header, 8);
  Check(version == kind.version, ErrorCode::kUnsupportedFormat,
        "{} has version {} of the format of {}, but this program reads version {}", name_, version,
        kind.words, kind.version);
  contents_ = FieldOf<uint64_t>(header, 16);
  expected_ = FieldOf<uint64_t>(header, 24);
}

void CheckedFileReader::CheckContents() {
  uint64_t left = contents_;
  while (left > 0) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(left, buffer_.size()));
    const size_t bytes = Get(buffer_.data(), wanted);
    Check(bytes == wanted, ErrorCode::kCorruptFile, "{} became shorter while it was read", name_);
    hash_.Add(buffer_.data(), bytes);
    left -= bytes;
  }
  Check(hash_.value() == expected_, ErrorCode::kCorruptFile,
        "{} is damaged: its contents have the checksum {:016x}, expected {:016x}", name_,
        hash_.value(), expected_);
}

void CheckedFileReader::Rewind() {
  Check(::lseek(descriptor_, kHeaderBytes, SEEK_SET) == static_cast<off_t>(kHeaderBytes),
        ErrorCode::kFileUnreadable, "cannot read {}: {}", name_, Reason(errno));
  hash_.Reset();
  left_ = contents_;
}

void CheckedFileReader::Read(void* data, size_t bytes) {
  Check(bytes <= left_, ErrorCode::kCorruptFile,
        "{} is damaged: {} bytes are expected where {} are left", name_, bytes, left_);
  char* next = static_cast<char*>(data);
  left_ -= bytes;
  const void* const begin = data;
  const size_t all = bytes;
  while (bytes > 0) {
    if (buffer_begin_ == buffer_end_) {
      if (bytes >= buffer_.size()) {
        const size_t count = Get(next, bytes);
        Check(count == bytes, ErrorCode::kCorruptFile, "{} became shorter while it was read",
              name_);
        break;
      }
      buffer_begin_ = 0;
      buffer_end_ = Get(buffer_.data(), buffer_.size());
      Check(buffer_end_ > 0, ErrorCode::kCorruptFile, "{} became shorter while it was read", name_);
    }
    const size_t count = std::min(bytes, buffer_end_ - buffer_begin_);
    std::copy_n(buffer_.data() + buffer_begin_, count, next);
    buffer_begin_ += count;
    next += count;
    bytes -= count;
  }
  hash_.Add(begin, all);
}

uint64_t CheckedFileReader::file_bytes() const { return kHeaderBytes + contents_; }

void CheckedFileReader::Finish() {
  Check(left_ == 0, ErrorCode::kCorruptFile, "{} is damaged: {} bytes more than expected", name_,
        left_);
  Check(hash_.value() == expected_, ErrorCode::kCorruptFile, "{} changed while it was read", name_);
}

}  // namespace lingbot
