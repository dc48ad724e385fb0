#include "weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "weights/advice.h"
#include "weights/safetensors_names.h"

namespace lingbot {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

struct HeaderEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> offsets;  // begin and end, bytes into the data
};

// Receives the header's JSON token by token. Only three levels exist (header, tensor or metadata,
// list of numbers), so nothing nests further, and nothing that is not wanted is kept.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;

  bool null() override { return Refuse("a null"); }
  bool boolean(bool) override { return Refuse("a boolean"); }
  bool number_float(double, const std::string&) override { return Refuse("a fraction"); }
  bool binary(nlohmann::json::binary_t&) override { return Refuse("binary data"); }

  bool number_integer(int64_t value) override {
    if (list_ == nullptr) return Refuse("a number");
    // Two offsets or a shape: anything much longer is refused here, before it takes memory.
    if (list_->size() >= 64) return Refuse("a list of more than 64 numbers");
    list_->push_back(value);
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return Refuse("a number above 2^63");
    return number_integer(static_cast<int64_t>(value));
  }

  bool string(std::string& value) override {
    if (depth_ != 2 || list_ != nullptr) return Refuse("a string");
    if (in_metadata_) {
      if (!metadata.emplace(key_, value).second) return Refuse("a repeated key");
      return true;
    }
    if (key_ != "dtype" || entries.back().dtype) return Refuse("a string");
    entries.back().dtype = value;
    return true;
  }

  bool start_object(size_t) override {
    if (depth_ >= 2 || list_ != nullptr) return Refuse("an object");
    if (depth_ == 1) {
      if (!names_.insert(key_).second) return Refuse("a repeated key");
      in_metadata_ = key_ == kSafetensorsMetadata;
      if (!in_metadata_) entries.push_back({key_, {}, {}, {}});
    }
    ++depth_;
    return true;
  }

  bool key(std::string& value) override {
    key_ = value;
    return true;
  }

  bool end_object() override {
    --depth_;
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr) return Refuse("a list");
    auto* const field = key_ == "shape"          ? &entries.back().shape
                        : key_ == "data_offsets" ? &entries.back().offsets
                                                 : nullptr;
    if (field == nullptr || field->has_value()) return Refuse("a list");
    list_ = &field->emplace();
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    Fail(ErrorCode::kCorruptFile, "the header of {} is not JSON at its byte {}: {}", where_,
         position, kDamaged);
  }

 private:
  bool Refuse(const char* what) const {
    constexpr size_t kShown = 80;
    Fail(ErrorCode::kCorruptFile, "the header of {} has {} where none belongs, at '{}': {}", where_,
         what, key_.substr(0, kShown), kDamaged);
  }

  const std::string& where_;
  std::set<std::string> names_;
  std::string key_;
  std::vector<int64_t>* list_ = nullptr;
  int depth_ = 0;
  bool in_metadata_ = false;
};

DType TypeNamed(const std::string& text, const HeaderEntry& entry, const std::string& where) {
  for (const auto& [name, dtype] : kSafetensorsTypes) {
    if (name == text) return dtype;
  }
  Fail(ErrorCode::kUnsupportedFormat,
       "tensor '{}' of {} has element type '{}'; F32, BF16, F16, F64, I64, I32, I16, I8, U8 and "
       "BOOL are supported: convert the checkpoint to one of these",
       entry.name, where, text);
}

// One tensor, with its offset relative to the data section, which is `data_size` bytes long.
StoredTensor ToStored(const HeaderEntry& entry, uint64_t data_size, const std::string& where) {
  Check(entry.dtype && entry.shape && entry.offsets && entry.offsets->size() == 2,
        ErrorCode::kCorruptFile,
        "tensor '{}' of {} lacks its dtype, its shape or its two data_offsets: {}", entry.name,
        where, kDamaged);
  StoredTensor tensor;
  tensor.info.dtype = TypeNamed(*entry.dtype, entry, where);
  tensor.info.shape = CheckedShape(*entry.shape, entry.name, where);
  tensor.strides = ContiguousStrides(tensor.info.shape);
  const int64_t begin = (*entry.offsets)[0];
  const int64_t end = (*entry.offsets)[1];
  Check(begin >= 0 && begin <= end, ErrorCode::kCorruptFile,
        "tensor '{}' of {} has data offsets {} to {}: {}", entry.name, where, begin, end, kDamaged);
  Check(static_cast<uint64_t>(end) <= data_size, ErrorCode::kCorruptFile,
        "{} is truncated: tensor '{}' ends at byte {} of the data, but only {} are there; download "
        "it again",
        where, entry.name, end, data_size);
  const int64_t expected =
      tensor.info.shape.elements() * static_cast<int64_t>(SizeOf(tensor.info.dtype));
  Check(end - begin == expected, ErrorCode::kCorruptFile,
        "tensor '{}' of {} takes {} bytes where {} {} need {}: {}", entry.name, where, end - begin,
        tensor.info.shape, NameOf(tensor.info.dtype), expected, kDamaged);
  tensor.offset = static_cast<uint64_t>(begin);
  return tensor;
}

// The data must be covered exactly once: an overlap or a gap means that header and data do not
// belong together.
void CheckCoverage(const std::map<std::string, StoredTensor>& tensors, uint64_t data_begin,
                   uint64_t file_size, const std::string& where) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // begin, end
  for (const auto& [name, tensor] : tensors) {
    const uint64_t size =
        static_cast<uint64_t>(tensor.info.shape.elements()) * SizeOf(tensor.info.dtype);
    if (size > 0) ranges.emplace_back(tensor.offset, tensor.offset + size);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t covered = data_begin;
  for (const auto& [begin, end] : ranges) {
    Check(begin == covered, ErrorCode::kCorruptFile,
          "the tensors of {} {} at byte {} of the file: {}", where,
          begin < covered ? "overlap" : "leave a gap", std::min(begin, covered), kDamaged);
    covered = end;
  }
  Check(covered == file_size, ErrorCode::kCorruptFile,
        "{} goes on for {} bytes after its last tensor: {}", where, file_size - covered, kDamaged);
}

uint64_t HeaderLength(std::span<const std::byte> bytes, const std::string& where) {
  uint64_t length = 0;
  Check(bytes.size() >= sizeof(length), ErrorCode::kCorruptFile,
        "{} is truncated: {} bytes are too few for a safetensors file; download it again", where,
        bytes.size());
  std::memcpy(&length, bytes.data(), sizeof(length));
  Check(length <= kMaxSafetensorsHeader, ErrorCode::kCorruptFile,
        "{} claims a header of {} bytes (at most {} are allowed): it is no safetensors file or is "
        "damaged, download it again",
        where, length, kMaxSafetensorsHeader);
  Check(length <= bytes.size() - sizeof(length), ErrorCode::kCorruptFile,
        "{} is truncated: its header takes {} bytes but the file has only {}; download it again",
        where, length, bytes.size());
  return length;
}

}  // namespace

StoredTensors ParseSafetensors(std::span<const std::byte> bytes, const std::string& name) {
  const uint64_t length = HeaderLength(bytes, name);
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof(uint64_t);
  Check(length > 0 && *text == '{', ErrorCode::kCorruptFile,
        "the header of {} does not begin with '{{': {}", name, kDamaged);
  HeaderReader reader(name);
  nlohmann::json::sax_parse(text, text + length, &reader);
  StoredTensors stored;
  stored.metadata = std::move(reader.metadata);
  const uint64_t data_begin = sizeof(uint64_t) + length;
  for (const HeaderEntry& entry : reader.entries) {
    StoredTensor tensor = ToStored(entry, bytes.size() - data_begin, name);
    tensor.offset += data_begin;
    AddTensor(stored, entry.name, tensor, name);
  }
  CheckCoverage(stored.tensors, data_begin, bytes.size(), name);
  return stored;
}

std::unique_ptr<TensorSource> OpenSafetensors(const std::filesystem::path& path) {
  FileMapping file(path);
  StoredTensors stored = ParseSafetensors(file.bytes(), path.string());
  return std::make_unique<StoredTensorSource>(path.string(), std::move(stored), std::move(file));
}

}  // namespace lingbot
