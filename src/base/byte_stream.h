#ifndef LINGBOT_BASE_BYTE_STREAM_H_
#define LINGBOT_BASE_BYTE_STREAM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"

namespace lingbot {

// State on its way into a file, and back: numbers little-endian, lists with their length in front.
// Both sides go through the same values in the same order.

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void Write(const void* data, size_t bytes) = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // All of it. Throws kCorruptFile if less is left.
  virtual void Read(void* data, size_t bytes) = 0;
  virtual uint64_t left() const = 0;
  virtual const std::string& name() const = 0;  // for messages
};

static_assert(std::endian::native == std::endian::little, "numbers are little-endian in files");

template <typename T>
void WriteValue(ByteSink& sink, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  sink.Write(&value, sizeof(value));
}

template <typename T>
T ReadValue(ByteSource& source) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
  T value;
  source.Read(&value, sizeof(value));
  return value;
}

// A number that must lie in [least, most]. Throws kCorruptFile naming `what`.
template <typename T>
T ReadInRange(ByteSource& source, const char* what, T least, T most) {
  const T value = ReadValue<T>(source);
  Check(value >= least && value <= most, ErrorCode::kCorruptFile,
        "{} is damaged: {} is {}, expected {} to {}", source.name(), what, value, least, most);
  return value;
}

inline bool ReadFlag(ByteSource& source, const char* what) {
  return ReadInRange<uint8_t>(source, what, 0, 1) != 0;
}

template <typename T>
void WriteList(ByteSink& sink, const T* values, size_t count) {
  static_assert(std::is_arithmetic_v<T>);
  WriteValue(sink, static_cast<uint64_t>(count));
  if (count > 0) sink.Write(values, count * sizeof(T));
}

// At most `most` values, checked (also against what the source holds) before memory is taken.
template <typename T>
std::vector<T> ReadList(ByteSource& source, const char* what, uint64_t most) {
  const auto count = ReadInRange<uint64_t>(source, what, 0, most);
  Check(count <= source.left() / sizeof(T), ErrorCode::kCorruptFile,
        "{} is damaged: {} of {} values is longer than what is left of the file", source.name(),
        what, count);
  std::vector<T> values(static_cast<size_t>(count));
  if (count > 0) source.Read(values.data(), values.size() * sizeof(T));
  return values;
}

inline void WriteText(ByteSink& sink, std::string_view text) {
  WriteList(sink, text.data(), text.size());
}

inline std::string ReadText(ByteSource& source, const char* what, uint64_t most) {
  const std::vector<char> text = ReadList<char>(source, what, most);
  return {text.begin(), text.end()};
}

}  // namespace lingbot

#endif  // LINGBOT_BASE_BYTE_STREAM_H_
