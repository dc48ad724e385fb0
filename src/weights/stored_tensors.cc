#include "weights/stored_tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

// Far above any tensor of a model, far below where products with an element size overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr size_t kMaxNameLength = 1024;

bool HasControlCharacters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

template <size_t kSize>
void GatherElements(const std::byte* source, int64_t stride, int64_t count, std::byte* target) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * kSize, source + i * stride * static_cast<int64_t>(kSize), kSize);
  }
}

// Packs `count` elements that lie `stride` elements apart.
void Gather(const std::byte* source, size_t size, int64_t stride, int64_t count,
            std::byte* target) {
  switch (size) {
    case 1:
      return GatherElements<1>(source, stride, count, target);
    case 2:
      return GatherElements<2>(source, stride, count, target);
    case 4:
      return GatherElements<4>(source, stride, count, target);
    default:
      return GatherElements<8>(source, stride, count, target);
  }
}

// Converts one innermost row, `stride` elements apart in the source.
void ConvertRow(const std::byte* source, DType dtype, int64_t stride, int64_t count,
                float* target) {
  if (stride == 1) return ConvertToFloat(source, dtype, static_cast<size_t>(count), target);
  constexpr int64_t kBatch = 512;
  const size_t size = SizeOf(dtype);
  std::array<std::byte, kBatch * 8> packed;
  for (int64_t done = 0; done < count; done += kBatch) {
    const int64_t batch = std::min(kBatch, count - done);
    Gather(source + done * stride * static_cast<int64_t>(size), size, stride, batch, packed.data());
    ConvertToFloat(packed.data(), dtype, static_cast<size_t>(batch), target + done);
  }
}

}  // namespace

std::string CanonicalName(std::string_view raw_name) {
  constexpr std::string_view kParallel = "module.";
  constexpr std::string_view kCompiled = "_orig_mod.";
  std::string name;
  bool at_start = true;  // of a component
  while (!raw_name.empty()) {
    if (at_start && raw_name.starts_with(kCompiled)) {
      raw_name.remove_prefix(kCompiled.size());
    } else if (name.empty() && raw_name.starts_with(kParallel)) {
      raw_name.remove_prefix(kParallel.size());
    } else {
      name += raw_name.front();
      at_start = raw_name.front() == '.';
      raw_name.remove_prefix(1);
    }
  }
  return name;
}

void AddTensor(StoredTensors& target, std::string_view raw_name, const StoredTensor& tensor,
               const std::string& where) {
  Check(raw_name.size() <= kMaxNameLength && !HasControlCharacters(raw_name),
        ErrorCode::kCorruptFile,
        "{} names a tensor with {} bytes or control characters (expected printable text of at most "
        "{} bytes): the file is damaged, download it again",
        where, raw_name.size(), kMaxNameLength);
  const std::string name = CanonicalName(raw_name);
  Check(!name.empty(), ErrorCode::kCorruptFile,
        "{} has a tensor without a name ('{}'): the file is damaged, download it again", where,
        raw_name);
  Check(target.tensors.emplace(name, tensor).second, ErrorCode::kCorruptFile,
        "{} holds tensor '{}' twice (the second as '{}'): it is not clear which one is meant; save "
        "it again with distinct names",
        where, name, raw_name);
}

Shape CheckedShape(std::span<const int64_t> extents, std::string_view tensor,
                   const std::string& where) {
  Check(extents.size() <= Shape::kMaxRank, ErrorCode::kUnsupportedFormat,
        "tensor '{}' of {} has {} axes; at most {} are supported: use a LingBot-Map checkpoint",
        tensor, where, extents.size(), Shape::kMaxRank);
  int64_t product = 1;  // of the extents that are not 0, so that no order of factors overflows
  for (const int64_t extent : extents) {
    Check(extent >= 0, ErrorCode::kCorruptFile,
          "tensor '{}' of {} has a negative extent {}: the file is damaged, download it again",
          tensor, where, extent);
    const int64_t factor = std::max<int64_t>(extent, 1);
    Check(factor < kMaxElements / product, ErrorCode::kCorruptFile,
          "tensor '{}' of {} claims 2^40 elements or more: the file is damaged, download it again",
          tensor, where);
    product *= factor;
  }
  return Shape(extents);
}

Shape ContiguousStrides(const Shape& shape) {
  return TensorView(nullptr, DType::kU8, shape).strides();
}

std::optional<int64_t> StridedExtent(const Shape& shape, const Shape& strides) {
  if (shape.elements() == 0) return 0;
  int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  int64_t extent = 0;
  if (__builtin_add_overflow(last, int64_t{1}, &extent)) return std::nullopt;
  return extent;
}

StoredTensorSource::StoredTensorSource(std::string name, StoredTensors stored,
                                       std::span<const std::byte> bytes)
    : name_(std::move(name)), stored_(std::move(stored)), bytes_(bytes) {
  for (const auto& [key, tensor] : stored_.tensors) infos_.emplace(key, tensor.info);
}

StoredTensorSource::StoredTensorSource(std::string name, StoredTensors stored, FileMapping file)
    : StoredTensorSource(std::move(name), std::move(stored), file.bytes()) {
  file_.emplace(std::move(file));
  // Parsing touched headers all over the file, and the kernel maps neighbours of a touched page.
  DropResident(0, bytes_.size());
}

void StoredTensorSource::ReadFloats(const std::string& tensor, float* target) const {
  Find(tensor);
  const StoredTensor& stored = stored_.tensors.at(tensor);
  if (stored.info.shape.elements() == 0) return;
  if (stored.strides == ContiguousStrides(stored.info.shape)) {
    ReadContiguous(stored, target);
  } else {
    ReadStrided(stored, target);
  }
}

void StoredTensorSource::ReadContiguous(const StoredTensor& tensor, float* target) const {
  // In parts, so that not even one whole tensor of the file is resident beside its converted copy.
  constexpr uint64_t kPart = uint64_t{1} << 21;  // elements
  const uint64_t size = SizeOf(tensor.info.dtype);
  const auto count = static_cast<uint64_t>(tensor.info.shape.elements());
  for (uint64_t begin = 0; begin < count; begin += kPart) {
    const uint64_t part = std::min(kPart, count - begin);
    const uint64_t offset = tensor.offset + begin * size;
    ConvertToFloat(bytes_.data() + offset, tensor.info.dtype, part, target + begin);
    DropResident(offset, part * size);
  }
}

void StoredTensorSource::ReadStrided(const StoredTensor& tensor, float* target) const {
  const Shape& shape = tensor.info.shape;
  const auto size = static_cast<int64_t>(SizeOf(tensor.info.dtype));
  const std::byte* start = bytes_.data() + tensor.offset;
  // A row is the last axis; a scalar is contiguous and does not come here.
  const int last = shape.rank() - 1;
  const int64_t row = shape[last];
  const int64_t rows = shape.elements() / row;
  int64_t position = 0;
  std::array<int64_t, Shape::kMaxRank> counter{};
  for (int64_t i = 0; i < rows; ++i) {
    ConvertRow(start + position * size, tensor.info.dtype, tensor.strides[last], row,
               target + i * row);
    for (int axis = last - 1; axis >= 0; --axis) {
      position += tensor.strides[axis];
      if (++counter[axis] < shape[axis]) break;
      position -= counter[axis] * tensor.strides[axis];
      counter[axis] = 0;
    }
  }
  const int64_t extent = StridedExtent(shape, tensor.strides).value_or(0);
  DropResident(tensor.offset, static_cast<uint64_t>(extent * size));
}

void StoredTensorSource::DropResident(uint64_t offset, uint64_t length) const {
  if (!file_) return;
  // FileMapping keeps pages that are only partly inside; neighbours are read again if they are
  // needed.
  constexpr uint64_t kPage = 65536;  // the largest page size in common use
  const uint64_t begin = offset / kPage * kPage;
  file_->DropResident(begin, offset - begin + length + kPage);
}

}  // namespace lingbot
