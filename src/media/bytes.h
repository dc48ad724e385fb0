#ifndef LINGBOT_MEDIA_BYTES_H_
#define LINGBOT_MEDIA_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace lingbot {

inline bool StartsWith(std::span<const std::byte> bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers of up to 4 bytes; the caller has checked that they are there.
inline uint32_t BigEndian(std::span<const std::byte> bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[offset + i]);
  return value;
}
inline uint32_t LittleEndian(std::span<const std::byte> bytes, size_t offset, int count) {
  uint32_t value = 0;
  while (count-- > 0) value = value << 8 | std::to_integer<uint32_t>(bytes[offset + count]);
  return value;
}

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_BYTES_H_
