#ifndef LINGBOT_BASE_FILE_MAPPING_H_
#define LINGBOT_BASE_FILE_MAPPING_H_

#include <cstddef>
#include <filesystem>
#include <span>

namespace lingbot {

// A file mapped read-only into memory. Pages are read when touched; DropResident gives them back,
// so that reading a large file tensor by tensor never holds more than one tensor of it in memory.
class FileMapping {
 public:
  // Throws kFileNotFound or kFileUnreadable (a folder, no permission, mmap failure). An empty file
  // maps to an empty span.
  explicit FileMapping(const std::filesystem::path& path);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the kernel that the pages wholly inside [offset, offset + length) need not stay resident.
  // Their contents remain readable.
  void DropResident(size_t offset, size_t length) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_FILE_MAPPING_H_
