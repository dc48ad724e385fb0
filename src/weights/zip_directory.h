#ifndef LINGBOT_WEIGHTS_ZIP_DIRECTORY_H_
#define LINGBOT_WEIGHTS_ZIP_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace lingbot {

// One file of an archive.
struct ZipEntry {
  uint64_t header = 0;  // byte of the archive at which the entry's own header starts
  uint64_t packed = 0;  // bytes that it takes in the archive
  uint64_t size = 0;    // bytes of its contents
  uint16_t method = 0;  // 0 = stored
  uint16_t flags = 0;   // bit 0 = encrypted
};

// The table of contents of a zip archive in memory, with the 64-bit extension. Only entries that
// are stored as they are can be opened, which is how checkpoints are written. Checksums are not
// verified.
class ZipDirectory {
 public:
  // `bytes` must outlive the directory; `name` names the archive in messages. Throws kCorruptFile,
  // or kUnsupportedFormat for an archive in several parts.
  ZipDirectory(std::span<const std::byte> bytes, std::string name);

  const std::map<std::string_view, ZipEntry>& entries() const { return entries_; }

  struct Contents {
    uint64_t offset = 0;  // from the start of the archive
    std::span<const std::byte> bytes;
  };
  // Throws kCorruptFile if there is no such entry or its header contradicts the directory,
  // kUnsupportedFormat if it is compressed or encrypted.
  Contents Open(std::string_view entry) const;

 private:
  struct Location {
    uint64_t offset = 0, size = 0, entries = 0;
  };
  Location FindDirectory() const;
  Location Zip64Location(uint64_t end_record, const Location& classic) const;
  uint64_t ReadEntry(uint64_t position, uint64_t end);

  std::span<const std::byte> bytes_;
  std::string name_;
  std::map<std::string_view, ZipEntry> entries_;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_ZIP_DIRECTORY_H_
