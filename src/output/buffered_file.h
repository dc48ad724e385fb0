#ifndef LINGBOT_OUTPUT_BUFFERED_FILE_H_
#define LINGBOT_OUTPUT_BUFFERED_FILE_H_

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "output/output_file.h"

namespace lingbot {

// OutputFile for many small pieces. Throws kFileUnwritable.
class BufferedFile {
 public:
  explicit BufferedFile(std::filesystem::path path) : file_(std::move(path)) {}

  void Write(const void* data, size_t bytes) {
    const auto* begin = static_cast<const char*>(data);
    buffer_.append(begin, begin + bytes);
    if (buffer_.size() >= kFlushBytes) Flush();
  }
  void Write(std::string_view text) { Write(text.data(), text.size()); }

  // A number as it lies in memory.
  template <typename T>
  void WriteRaw(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    Write(&value, sizeof(value));
  }

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushBytes) Flush();
  }

  void Commit() {
    Flush();
    file_.Commit();
  }

 private:
  static constexpr size_t kFlushBytes = 1 << 16;

  void Flush() {
    if (buffer_.size() > 0) file_.Write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  OutputFile file_;
  fmt::memory_buffer buffer_;
};

}  // namespace lingbot

#endif  // LINGBOT_OUTPUT_BUFFERED_FILE_H_
