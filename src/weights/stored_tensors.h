#ifndef LINGBOT_WEIGHTS_STORED_TENSORS_H_
#define LINGBOT_WEIGHTS_STORED_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_mapping.h"
#include "weights/tensor_source.h"

namespace lingbot {

// Where the elements of one tensor lie in a file. A parser makes these, and promises that every
// element lies inside the bytes that it parsed.
struct StoredTensor {
  TensorInfo info;
  Shape strides;        // in elements, none negative; 0 repeats
  uint64_t offset = 0;  // bytes from the start of the file to element [0, 0, ...]
};

// What a checkpoint file says about itself.
struct StoredTensors {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Adds a tensor under its canonical name. `where` names the file in messages. Throws kCorruptFile
// for a name that is empty, longer than 1024 bytes, holds control characters, or is already there.
void AddTensor(StoredTensors& target, std::string_view raw_name, const StoredTensor& tensor,
               const std::string& where);

// A tensor's name without what wrappers add: "module." (DataParallel) in front and "_orig_mod."
// (torch.compile) in front or between two dots, as often as they occur.
std::string CanonicalName(std::string_view raw_name);

// A Shape of extents read from a file. Throws kCorruptFile for a negative extent or 2^40 elements
// and more, kUnsupportedFormat for more than Shape::kMaxRank axes.
Shape CheckedShape(std::span<const int64_t> extents, std::string_view tensor,
                   const std::string& where);

// Strides of a row-major tensor. The shape comes from CheckedShape.
Shape ContiguousStrides(const Shape& shape);

// Elements from the first to one past the last that a strided tensor touches; 0 for an empty
// tensor; nothing if the number does not fit 63 bits. Extents and strides are not negative.
std::optional<int64_t> StridedExtent(const Shape& shape, const Shape& strides);

// Tensors that lie in a mapped file or in memory.
class StoredTensorSource final : public TensorSource {
 public:
  StoredTensorSource(std::string name, StoredTensors stored, FileMapping file);
  // `bytes` must outlive the source.
  StoredTensorSource(std::string name, StoredTensors stored, std::span<const std::byte> bytes);

  const std::map<std::string, TensorInfo>& tensors() const override { return infos_; }
  const std::map<std::string, std::string>& metadata() const override { return stored_.metadata; }
  const std::string& name() const override { return name_; }
  void ReadFloats(const std::string& tensor, float* target) const override;

 private:
  void ReadContiguous(const StoredTensor& tensor, float* target) const;
  void ReadStrided(const StoredTensor& tensor, float* target) const;
  void DropResident(uint64_t offset, uint64_t length) const;

  std::string name_;
  StoredTensors stored_;
  std::map<std::string, TensorInfo> infos_;
  std::optional<FileMapping> file_;
  std::span<const std::byte> bytes_;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_STORED_TENSORS_H_
