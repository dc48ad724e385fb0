#ifndef LINGBOT_WEIGHTS_SAFETENSORS_WRITER_H_
#define LINGBOT_WEIGHTS_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weights/tensor_source.h"

namespace lingbot {

// Writes a safetensors file tensor after tensor, so that a file larger than memory can be made. The
// file grows under PATH.partial and gets its name in Finish; without Finish nothing is left behind.
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    TensorInfo info;
  };

  // Creates PATH.partial and writes the header. Throws kInvalidArgument for repeated or reserved
  // names, text that is not UTF-8 or more than 100 MB of header, kFileUnwritable if the file cannot
  // be made.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<Entry> entries,
                    const std::map<std::string, std::string>& metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Writes the next tensor, row-major, in the order of the entries. Throws kInvalidArgument if it
  // is another one's turn or the number of bytes is wrong, kFileUnwritable if the disk is full.
  void Write(const std::string& name, std::span<const std::byte> data);

  // The same from numbers, which must be as wide as the tensor's elements.
  template <typename T>
  void WriteValues(const std::string& name, std::span<const T> values) {
    Write(name, std::as_bytes(values));
  }

  // Flushes to the disk and renames. Throws kInvalidArgument if tensors are missing, else
  // kFileUnwritable.
  void Finish();

 private:
  void WriteAll(const void* data, size_t size);

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
  int fd_ = -1;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_SAFETENSORS_WRITER_H_
