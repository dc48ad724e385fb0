#ifndef LINGBOT_OUTPUT_OUTPUT_FILE_H_
#define LINGBOT_OUTPUT_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lingbot {

// A file that appears under its name only when complete: it is written under a temporary name in
// the same folder and renamed by Commit. Without Commit (an exception on the way) the temporary
// file is removed and an older file of that name stays as it was. A process killed on the way
// leaves ".NAME.partial" behind.
//
// All failures throw kFileUnwritable with the path and the system's reason.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const void* data, size_t bytes);

  // Checks that the file system holds as many bytes as were written, then renames.
  void Commit();

 private:
  void Discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

// Brings to the disk what has been written to the file system of `folder`, so that not even a power
// cut takes it back. Where that cannot be done, does nothing.
void SyncFileSystem(const std::filesystem::path& folder) noexcept;

// Writes a whole file through OutputFile.
void WriteFile(const std::filesystem::path& path, std::span<const std::byte> bytes);
void WriteFile(const std::filesystem::path& path, std::string_view text);

// A text file that grows line by line and is valid at every moment: a line that cannot be written
// whole (disk full) is taken back before the error is thrown.
class LineFile {
 public:
  // Starts an empty file, replacing an older one. Throws kFileUnwritable, as does Append.
  explicit LineFile(std::filesystem::path path);
  // Goes on with an older file after its first `size` bytes, which must be whole lines: removes the
  // rest. Throws kCorruptFile if the file is shorter or has no line's end there; it is then as it
  // was.
  LineFile(std::filesystem::path path, uint64_t size);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void Append(std::string_view line);  // adds the line feed

  // Throws if the file system does not hold all appended lines.
  void Verify() const;

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return size_; }  // bytes of the lines so far

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_OUTPUT_FILE_H_
