#include "weights/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

// Records of the format (PKWARE APPNOTE 4.3): signature, size of the fixed part.
constexpr uint32_t kLocalSignature = 0x04034B50;
constexpr uint32_t kCentralSignature = 0x02014B50;
constexpr uint32_t kEndSignature = 0x06054B50;
constexpr uint32_t kZip64EndSignature = 0x06064B50;
constexpr uint32_t kZip64LocatorSignature = 0x07064B50;
constexpr uint64_t kLocalSize = 30;
constexpr uint64_t kCentralSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kZip64EndSize = 56;
constexpr uint64_t kZip64LocatorSize = 20;
constexpr uint64_t kMaxComment = 65535;
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kIn64Bits = 0xFFFFFFFF;  // "the value is in the 64-bit extension"

constexpr const char* kDamagedArchive = "the file is damaged or truncated, download it again";

template <typename T>
T Load(std::span<const std::byte> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Replaces the fields of `entry` that did not fit 32 bits by those of its 64-bit extra field. False
// if the extra fields are malformed.
bool ApplyExtra(std::span<const std::byte> extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto id = Load<uint16_t>(extra, 0);
    const auto length = Load<uint16_t>(extra, 2);
    extra = extra.subspan(4);
    if (length > extra.size()) return false;
    if (id == kZip64Extra) {
      std::span<const std::byte> fields = extra.first(length);
      for (uint64_t* const value : {&entry.size, &entry.packed, &entry.header}) {
        if (*value != kIn64Bits) continue;
        if (fields.size() < sizeof(uint64_t)) return false;
        *value = Load<uint64_t>(fields, 0);
        fields = fields.subspan(sizeof(uint64_t));
      }
    }
    extra = extra.subspan(length);
  }
  return true;
}

}  // namespace

ZipDirectory::ZipDirectory(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {
  const Location location = FindDirectory();
  Check(location.offset <= bytes_.size() && location.size <= bytes_.size() - location.offset &&
            location.entries <= location.size / kCentralSize,
        ErrorCode::kCorruptFile,
        "the table of contents of {} ({} entries in {} bytes at {}) does not fit its {} bytes: {}",
        name_, location.entries, location.size, location.offset, bytes_.size(), kDamagedArchive);
  uint64_t position = location.offset;
  for (uint64_t i = 0; i < location.entries; ++i) {
    position = ReadEntry(position, location.offset + location.size);
  }
}

ZipDirectory::Location ZipDirectory::FindDirectory() const {
  // The end record is followed by a comment of a length that it states itself.
  if (bytes_.size() >= kEndSize) {
    const uint64_t last = bytes_.size() - kEndSize;
    const uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (Load<uint32_t>(bytes_, at) != kEndSignature ||
          Load<uint16_t>(bytes_, at + 20) != last - at) {
        continue;
      }
      const auto part = Load<uint16_t>(bytes_, at + 4);
      Check(part == 0 || part == 0xFFFF, ErrorCode::kUnsupportedFormat,
            "{} is one part of an archive in several parts: download the checkpoint in one piece",
            name_);
      return Zip64Location(at, {Load<uint32_t>(bytes_, at + 16), Load<uint32_t>(bytes_, at + 12),
                                Load<uint16_t>(bytes_, at + 10)});
    }
  }
  Fail(ErrorCode::kCorruptFile,
       "{} is truncated: it begins like a zip archive, but its {} bytes do not end with a table of "
       "contents; download it again",
       name_, bytes_.size());
}

ZipDirectory::Location ZipDirectory::Zip64Location(uint64_t end_record,
                                                   const Location& classic) const {
  const bool needed =
      classic.offset == kIn64Bits || classic.size == kIn64Bits || classic.entries == 0xFFFF;
  if (!needed || end_record < kZip64LocatorSize) return classic;
  const uint64_t locator = end_record - kZip64LocatorSize;
  if (Load<uint32_t>(bytes_, locator) != kZip64LocatorSignature) return classic;
  const auto record = Load<uint64_t>(bytes_, locator + 8);
  Check(record <= locator && locator - record >= kZip64EndSize &&
            Load<uint32_t>(bytes_, record) == kZip64EndSignature,
        ErrorCode::kCorruptFile, "the 64-bit end record of {} is not at byte {}: {}", name_, record,
        kDamagedArchive);
  return {Load<uint64_t>(bytes_, record + 48), Load<uint64_t>(bytes_, record + 40),
          Load<uint64_t>(bytes_, record + 32)};
}

// Reads the directory's entry at `position` and returns where the next one starts.
uint64_t ZipDirectory::ReadEntry(uint64_t position, uint64_t end) {
  Check(end - position >= kCentralSize && Load<uint32_t>(bytes_, position) == kCentralSignature,
        ErrorCode::kCorruptFile, "the table of contents of {} breaks off at byte {}: {}", name_,
        position, kDamagedArchive);
  ZipEntry entry;
  entry.flags = Load<uint16_t>(bytes_, position + 8);
  entry.method = Load<uint16_t>(bytes_, position + 10);
  entry.packed = Load<uint32_t>(bytes_, position + 20);
  entry.size = Load<uint32_t>(bytes_, position + 24);
  const uint64_t name_length = Load<uint16_t>(bytes_, position + 28);
  const uint64_t extra_length = Load<uint16_t>(bytes_, position + 30);
  const uint64_t comment_length = Load<uint16_t>(bytes_, position + 32);
  entry.header = Load<uint32_t>(bytes_, position + 42);
  position += kCentralSize;
  Check(name_length + extra_length + comment_length <= end - position, ErrorCode::kCorruptFile,
        "the table of contents of {} breaks off at byte {}: {}", name_, position, kDamagedArchive);
  const std::string_view entry_name = Text(bytes_.subspan(position, name_length));
  position += name_length;
  Check(ApplyExtra(bytes_.subspan(position, extra_length), entry) &&
            entries_.emplace(entry_name, entry).second,
        ErrorCode::kCorruptFile, "the table of contents of {} lists a file twice or wrongly: {}",
        name_, kDamagedArchive);
  return position + extra_length + comment_length;
}

ZipDirectory::Contents ZipDirectory::Open(std::string_view entry) const {
  const auto found = entries_.find(entry);
  Check(found != entries_.end(), ErrorCode::kCorruptFile, "{} lacks its part '{}': {}", name_,
        entry, kDamagedArchive);
  const ZipEntry& info = found->second;
  Check(info.method == 0 && (info.flags & 1) == 0, ErrorCode::kUnsupportedFormat,
        "'{}' in {} is {}; only archives as torch.save writes them can be read: save the "
        "checkpoint again, or download the original file",
        entry, name_, info.method != 0 ? "compressed" : "encrypted");
  const uint64_t total = bytes_.size();
  Check(info.size == info.packed && info.header <= total && total - info.header >= kLocalSize &&
            Load<uint32_t>(bytes_, info.header) == kLocalSignature,
        ErrorCode::kCorruptFile, "'{}' is not where the table of contents of {} says: {}", entry,
        name_, kDamagedArchive);
  const uint64_t name_length = Load<uint16_t>(bytes_, info.header + 26);
  const uint64_t extra_length = Load<uint16_t>(bytes_, info.header + 28);
  const uint64_t room = total - info.header - kLocalSize;
  Check(name_length + extra_length <= room && info.size <= room - name_length - extra_length &&
            Text(bytes_.subspan(info.header + kLocalSize, name_length)) == entry,
        ErrorCode::kCorruptFile, "the header of '{}' in {} contradicts the table of contents: {}",
        entry, name_, kDamagedArchive);
  const uint64_t offset = info.header + kLocalSize + name_length + extra_length;
  return {offset, bytes_.subspan(offset, info.size)};
}

}  // namespace lingbot
