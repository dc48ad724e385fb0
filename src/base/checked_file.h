#ifndef LINGBOT_BASE_CHECKED_FILE_H_
#define LINGBOT_BASE_CHECKED_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "base/xxhash64.h"

namespace lingbot {

// A file of which every byte is covered by a checksum, written and read through a buffer of 1 MiB:
//   0   8 bytes  magic: the kind of file
//   8   uint32   version of what follows
//   12  uint32   0
//   16  uint64   bytes of contents
//   24  uint64   XXH64 of the contents
//   32  uint64   XXH64 of the 32 bytes before
//   40           contents
// All little-endian.
struct CheckedFileKind {
  char magic[9];      // 8 characters
  uint32_t version;   // that is written, and the only one that is read
  const char* words;  // for messages, such as "a snapshot"
};

// Writes under the name ".NAME.partial" in the same folder. Commit brings everything to the disk
// and puts the file into its place in one step: whatever happens and whenever, the old file or the
// new one is there, whole. Without Commit the old one stays. All failures throw kFileUnwritable
// with the path and the system's reason.
class CheckedFileWriter : public ByteSink {
 public:
  CheckedFileWriter(const std::filesystem::path& path, const CheckedFileKind& kind);
  ~CheckedFileWriter() override;
  CheckedFileWriter(const CheckedFileWriter&) = delete;
  CheckedFileWriter& operator=(const CheckedFileWriter&) = delete;

  void Write(const void* data, size_t bytes) override;
  void Commit();

 private:
  void Put(const void* data, size_t bytes);
  void FlushBuffer();
  [[noreturn]] void FailWriting(int error) const;

  CheckedFileKind kind_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  std::vector<char> buffer_;
  uint64_t contents_ = 0;
  XxHash64 hash_;
};

// Opens such a file and, unless only its beginning matters, reads it through once, so that nothing
// of a damaged one is used: throws kFileNotFound, kFileUnreadable, kUnsupportedFormat (another kind
// of file, another version), kCorruptFile. Then gives the contents from the beginning.
class CheckedFileReader : public ByteSource {
 public:
  enum class Checking { kWhole, kHeader };
  CheckedFileReader(const std::filesystem::path& path, const CheckedFileKind& kind,
                    Checking checking = Checking::kWhole);
  ~CheckedFileReader() override;
  CheckedFileReader(const CheckedFileReader&) = delete;
  CheckedFileReader& operator=(const CheckedFileReader&) = delete;

  void Read(void* data, size_t bytes) override;
  uint64_t left() const override { return left_; }
  const std::string& name() const override { return name_; }
  uint64_t file_bytes() const;

  // To be called after the last Read. Throws kCorruptFile if anything is left, or if the file has
  // changed since it was opened.
  void Finish();

 private:
  void ReadHeader(const CheckedFileKind& kind);
  void CheckContents();
  void Rewind();
  size_t Get(void* data, size_t bytes);

  std::string name_;
  int descriptor_ = -1;
  uint64_t contents_ = 0;
  uint64_t expected_ = 0;  // checksum
  uint64_t left_ = 0;
  XxHash64 hash_;
  std::vector<char> buffer_;
  size_t buffer_begin_ = 0;
  size_t buffer_end_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_CHECKED_FILE_H_
