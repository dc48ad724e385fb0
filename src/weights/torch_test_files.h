#ifndef LINGBOT_WEIGHTS_TORCH_TEST_FILES_H_
#define LINGBOT_WEIGHTS_TORCH_TEST_FILES_H_

// Makes PyTorch checkpoints for the tests, sound and broken ones.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot {

// The bytes of numbers, as they lie in memory.
template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::string RawNumber(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::span<const std::byte> AsBytes(std::string_view text);

// Writes pickles instruction by instruction.
class PickleWriter {
 public:
  explicit PickleWriter(int protocol = 2);

  PickleWriter& Op(std::string_view bytes);
  PickleWriter& Text(std::string_view text);
  PickleWriter& Int(int64_t value);
  PickleWriter& Global(std::string_view module, std::string_view name);
  PickleWriter& Ints(const std::vector<int64_t>& values);  // a tuple
  PickleWriter& EmptyOrderedDict();
  PickleWriter& Storage(std::string_view type, std::string_view key, int64_t count);

  struct TensorSpec {
    std::string storage_type = "FloatStorage";
    std::string key = "0";
    int64_t count = 0;  // elements of the storage
    int64_t offset = 0;
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
  };
  // The arguments that every kind of tensor begins with, without the parentheses.
  PickleWriter& TensorArguments(const TensorSpec& spec);
  PickleWriter& Tensor(const TensorSpec& spec);

  std::string Stop();

 private:
  std::string out_;
};

// Writes zip archives of stored files, with faults on demand.
class ZipWriter {
 public:
  struct File {
    std::string name;
    std::string contents;
    uint16_t method = 0;
    uint16_t flags = 0;
  };
  ZipWriter& Add(const File& file);
  ZipWriter& Add(const std::string& name, const std::string& contents);

  // With `zip64`, every number that can be in the 64-bit records is there.
  std::string Write(bool zip64 = false, const std::string& comment = "") const;

 private:
  std::vector<File> files_;
};

// An archive as torch.save lays it out; storage i is the entry data/i.
ZipWriter TorchZip(const std::string& pickle, const std::vector<std::string>& storages);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_TORCH_TEST_FILES_H_
