#include "weights/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/replace_file.h"
#include "weights/safetensors_names.h"

namespace lingbot {
namespace {

std::string TypeName(DType dtype) {
  for (const auto& [name, type] : kSafetensorsTypes) {
    if (type == dtype) return std::string(name);
  }
  Fail(ErrorCode::kInternal, "safetensors has no name for {}", NameOf(dtype));
}

int64_t ByteSize(const TensorInfo& info) {
  return info.shape.elements() * static_cast<int64_t>(SizeOf(info.dtype));
}

nlohmann::ordered_json HeaderObject(const std::vector<SafetensorsWriter::Entry>& entries,
                                    const std::map<std::string, std::string>& metadata) {
  // Pairs in a list, made into an object at the end: an ordered object searches all its keys on
  // each insertion.
  auto header = nlohmann::ordered_json::object();
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  if (!metadata.empty()) members.push_back({std::string(kSafetensorsMetadata), metadata});
  std::set<std::string> names{std::string(kSafetensorsMetadata)};
  int64_t offset = 0;
  for (const auto& [name, info] : entries) {
    Check(!name.empty() && names.insert(name).second, ErrorCode::kInvalidArgument,
          "a safetensors file cannot hold a tensor named '{}' (empty, reserved or used twice)",
          name);
    const int64_t end = offset + ByteSize(info);
    members.push_back(
        {name, nlohmann::ordered_json{{"dtype", TypeName(info.dtype)},
                                      {"shape", std::vector<int64_t>(info.shape.extents().begin(),
                                                                     info.shape.extents().end())},
                                      {"data_offsets", {offset, end}}}});
    offset = end;
  }
  return header;
}

std::string HeaderText(const std::vector<SafetensorsWriter::Entry>& entries,
                       const std::map<std::string, std::string>& metadata) {
  std::string text;
  try {
    text = HeaderObject(entries, metadata).dump();
  } catch (const nlohmann::json::exception& error) {
    Fail(ErrorCode::kInvalidArgument,
         "names and metadata of a safetensors file must be UTF-8 text: {}", error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins at a multiple of 8
  Check(text.size() <= kMaxSafetensorsHeader, ErrorCode::kInvalidArgument,
        "a safetensors header of {} bytes is larger than the {} that the format allows",
        text.size(), kMaxSafetensorsHeader);
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<Entry> entries,
                                     const std::map<std::string, std::string>& metadata)
    : path_(ReplaceableFile(path)), partial_(path_), entries_(std::move(entries)) {
  const std::string header = HeaderText(entries_, metadata);
  partial_ += ".partial";
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  Check(fd_ >= 0, ErrorCode::kFileUnwritable, "cannot create {}: {}", partial_.string(),
        std::strerror(errno));
  try {
    const uint64_t length = header.size();
    WriteAll(&length, sizeof(length));
    WriteAll(header.data(), header.size());
  } catch (...) {
    ::close(fd_);
    ::unlink(partial_.c_str());
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

void SafetensorsWriter::Write(const std::string& name, std::span<const std::byte> data) {
  Check(next_ < entries_.size() && entries_[next_].name == name, ErrorCode::kInvalidArgument,
        "tensor '{}' written to {} out of turn (expected {})", name, path_.string(),
        next_ < entries_.size() ? "'" + entries_[next_].name + "'" : "no more");
  const TensorInfo& info = entries_[next_].info;
  Check(data.size() == static_cast<size_t>(ByteSize(info)), ErrorCode::kInvalidArgument,
        "tensor '{}' of shape {} {} written with {} bytes", name, info.shape, NameOf(info.dtype),
        data.size());
  WriteAll(data.data(), data.size());
  ++next_;
}

void SafetensorsWriter::Finish() {
  Check(fd_ >= 0, ErrorCode::kInvalidArgument, "{} is finished already", path_.string());
  Check(next_ == entries_.size(), ErrorCode::kInvalidArgument,
        "{} of the {} tensors of {} were written", next_, entries_.size(), path_.string());
  // Some file systems report a full disk only when the data goes to the disk.
  const bool flushed = ::fsync(fd_) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int flush_error = errno;
  const bool closed = ::close(std::exchange(fd_, -1)) == 0;
  const int close_error = errno;
  const bool renamed = flushed && closed && ::rename(partial_.c_str(), path_.c_str()) == 0;
  if (renamed) return;
  const int problem = !flushed ? flush_error : !closed ? close_error : errno;
  ::unlink(partial_.c_str());
  Fail(ErrorCode::kFileUnwritable, "cannot write {}: {}", path_.string(), std::strerror(problem));
}

void SafetensorsWriter::WriteAll(const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_, bytes, std::min(size, size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    Check(written > 0, ErrorCode::kFileUnwritable,
          "cannot write {}: {}; free space on the disk or choose another place", partial_.string(),
          written < 0 ? std::strerror(errno) : "nothing was written");
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace lingbot
