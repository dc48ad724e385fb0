#include "weights/torch_pt.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "weights/advice.h"
#include "weights/pickle.h"
#include "weights/zip_directory.h"

namespace lingbot {
namespace {

using Kind = Pickle::Kind;
using Ref = Pickle::Ref;

// A block of elements in the file that tensors are windows onto.
struct Storage {
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t size = 0;    // bytes
  std::optional<DType> dtype;
};

// The archive's one folder, with its slash: PyTorch names it after the file.
std::string FindPrefix(const ZipDirectory& zip, const std::string& where) {
  constexpr std::string_view kPickle = "data.pkl";
  std::optional<std::string_view> best;
  for (const auto& [entry, info] : zip.entries()) {
    if (entry.ends_with("/constants.pkl")) {
      Fail(ErrorCode::kUnsupportedFormat,
           "{} is a TorchScript program, which holds code beside its weights; {}", where,
           kSaveStateDict);
    }
    const bool is_pickle = entry == kPickle || entry.ends_with("/data.pkl");
    if (is_pickle && (!best || entry.size() < best->size())) best = entry;
  }
  Check(best.has_value(), ErrorCode::kUnsupportedFormat,
        "{} is a zip archive but not a PyTorch checkpoint (it has no data.pkl): if the checkpoint "
        "is packed inside, unpack it first",
        where);
  return std::string(best->substr(0, best->size() - kPickle.size()));
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Understands the values of a pickle as torch.save means them.
class TorchReader {
 public:
  TorchReader(std::span<const std::byte> bytes, const std::string& where)
      : where_(where),
        zip_(bytes, where),
        prefix_(FindPrefix(zip_, where)),
        pickle_(zip_.Open(prefix_ + "data.pkl").bytes, where + ": data.pkl"),
        visited_(pickle_.size()) {
    CheckByteOrder();
  }

  StoredTensors Read() {
    CheckRoot();
    const std::optional<Ref> weights = FindWeights(pickle_.root());
    Check(weights.has_value(), ErrorCode::kUnsupportedFormat,
          "{} holds no tensors at its top or under \"model\" or \"state_dict\": {}", where_,
          kSaveStateDict);
    // A key that is set twice keeps its last value, as in Python.
    std::map<std::string_view, Ref> last;
    const std::span<const Ref> items = pickle_.items(*weights);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (pickle_.kind(items[i]) == Kind::kText) last[Key(items[i])] = items[i + 1];
    }
    StoredTensors stored;
    for (const auto& [key, value] : last) {
      if (IsTensor(value)) AddTensor(stored, key, ReadTensor(value, key), where_);
    }
    return stored;
  }

 private:
  void CheckByteOrder() const {
    const std::string entry = prefix_ + "byteorder";
    if (zip_.entries().count(entry) == 0) return;
    const std::string_view order = AsText(zip_.Open(entry).bytes);
    Check(order == "little", ErrorCode::kUnsupportedFormat,
          "{} has {} data where this library reads little-endian: save it again on an x86 or ARM "
          "machine",
          where_, order == "big" ? "big-endian" : "data of unknown byte order instead of little");
  }

  void CheckRoot() const {
    const Ref root = pickle_.root();
    const Kind kind = pickle_.kind(root);
    if (kind == Kind::kDict) return;
    const bool object = kind == Kind::kCall && !IsTensor(root);
    Fail(ErrorCode::kUnsupportedFormat, "{} holds {} where a dictionary of tensors is expected; {}",
         where_,
         object                                        ? "a whole object (a pickled model)"
         : kind == Kind::kCall                         ? "a single tensor"
         : kind == Kind::kList || kind == Kind::kTuple ? "a list"
                                                       : "a single value",
         kSaveStateDict);
  }

  // Names are short, so that comparing them costs no more than the pickle's length allows.
  std::string_view Key(Ref value) const {
    constexpr size_t kLongest = 4096;
    const std::string_view text = pickle_.text(value);
    Check(text.size() <= kLongest, ErrorCode::kCorruptFile,
          "{} holds a key of {} bytes among its tensors' names: {}", where_, text.size(), kDamaged);
    return text;
  }

  bool IsTensor(Ref value) const {
    if (pickle_.kind(value) != Kind::kCall) return false;
    switch (pickle_.global(value)) {
      case GlobalKind::kTensor:
      case GlobalKind::kTensorWithDType:
      case GlobalKind::kWrappedTensor:
      case GlobalKind::kTypedTensor:
      case GlobalKind::kOtherTensor:
        return true;
      default:
        return false;
    }
  }

  // The dictionary below `value` that holds the weights. Each dictionary is looked at once, so that
  // one that contains itself ends the search; wrappers nest a few levels at most.
  std::optional<Ref> FindWeights(Ref value, int depth = 0) {
    constexpr int kDeepest = 8;
    if (depth > kDeepest || pickle_.kind(value) != Kind::kDict || visited_[value]) return {};
    visited_[value] = true;
    constexpr std::string_view kWrappers[] = {"model", "state_dict", "model_state_dict"};
    const std::span<const Ref> items = pickle_.items(value);
    for (const std::string_view wrapper : kWrappers) {
      for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (pickle_.kind(items[i]) != Kind::kText || pickle_.text(items[i]) != wrapper) continue;
        if (const auto found = FindWeights(items[i + 1], depth + 1)) return found;
      }
    }
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (IsTensor(items[i + 1])) return value;
    }
    return {};
  }

  // The arguments of a call; at least `count` of them.
  std::span<const Ref> Arguments(Ref call, size_t count, std::string_view tensor) const {
    const std::span<const Ref> arguments = pickle_.items(pickle_.items(call)[1]);
    Check(arguments.size() >= count, ErrorCode::kCorruptFile,
          "tensor '{}' of {} is described by {} values where at least {} are needed: {}", tensor,
          where_, arguments.size(), count, kDamaged);
    return arguments;
  }

  StoredTensor ReadTensor(Ref value, std::string_view tensor) const {
    constexpr int kDeepest = 8;  // wrappers around wrappers
    for (int depth = 0; depth < kDeepest; ++depth) {
      Check(IsTensor(value), ErrorCode::kCorruptFile, "'{}' of {} wraps what is no tensor: {}",
            tensor, where_, kDamaged);
      switch (pickle_.global(value)) {
        case GlobalKind::kTensor:
        case GlobalKind::kTensorWithDType:
          return ReadDense(value, tensor);
        case GlobalKind::kWrappedTensor:
          value = Arguments(value, 1, tensor)[0];
          break;
        case GlobalKind::kTypedTensor:
          return ReadTyped(value, tensor);
        default:
          Fail(ErrorCode::kUnsupportedFormat,
               "tensor '{}' of {} is sparse, quantised or without data: save it as a plain dense "
               "tensor",
               tensor, where_);
      }
    }
    Fail(ErrorCode::kCorruptFile, "tensor '{}' of {} is wrapped too often: {}", tensor, where_,
         kDamaged);
  }

  // _rebuild_from_type_v2(function, type, arguments, state): a tensor that carries attributes.
  StoredTensor ReadTyped(Ref call, std::string_view tensor) const {
    const std::span<const Ref> given = Arguments(call, 3, tensor);
    const bool plain = pickle_.kind(given[0]) == Kind::kName &&
                       pickle_.global(given[0]) == GlobalKind::kTensor &&
                       pickle_.kind(given[2]) == Kind::kTuple;
    Check(plain, ErrorCode::kUnsupportedFormat,
          "tensor '{}' of {} is of a special class: save it as a plain dense tensor", tensor,
          where_);
    return ReadDense(pickle_.items(given[2]), std::nullopt, tensor);
  }

  StoredTensor ReadDense(Ref call, std::string_view tensor) const {
    if (pickle_.global(call) == GlobalKind::kTensor) {
      return ReadDense(Arguments(call, 4, tensor), std::nullopt, tensor);
    }
    // _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, ...)
    const std::span<const Ref> given = Arguments(call, 7, tensor);
    const std::optional<DType> dtype =
        pickle_.kind(given[6]) == Kind::kName ? TorchType(pickle_.name(given[6])) : std::nullopt;
    Check(dtype.has_value(), ErrorCode::kUnsupportedFormat,
          "tensor '{}' of {} has an element type that is not supported: convert it to float32",
          tensor, where_);
    return ReadDense(given.first(6), dtype, tensor);
  }

  // `given`: storage, offset, size, stride, and optionally requires_grad, hooks, metadata.
  StoredTensor ReadDense(std::span<const Ref> given, std::optional<DType> dtype,
                         std::string_view tensor) const {
    Check(given.size() >= 4, ErrorCode::kCorruptFile, "tensor '{}' of {} is not described: {}",
          tensor, where_, kDamaged);
    const bool plain = given.size() < 7 || pickle_.kind(given[6]) != Kind::kDict ||
                       pickle_.items(given[6]).empty();
    Check(plain, ErrorCode::kUnsupportedFormat,
          "tensor '{}' of {} is a conjugated or negated view: save a copy of it", tensor, where_);
    const Storage storage = ReadStorage(given[0], tensor);
    StoredTensor result;
    result.info.dtype = dtype ? *dtype : storage.dtype.value_or(DType::kU8);
    Check(dtype || storage.dtype, ErrorCode::kUnsupportedFormat,
          "tensor '{}' of {} has a complex, quantised or unknown element type: convert it to "
          "float32",
          tensor, where_);
    result.info.shape = CheckedShape(Extents(given[2], tensor), tensor, where_);
    result.strides = Strides(Extents(given[3], tensor), result.info.shape, tensor);
    result.offset = FirstByte(given[1], result, storage, tensor);
    return result;
  }

  std::vector<int64_t> Extents(Ref value, std::string_view tensor) const {
    if (pickle_.kind(value) == Kind::kCall && pickle_.global(value) == GlobalKind::kSize) {
      value = Arguments(value, 1, tensor)[0];
    }
    const std::span<const Ref> items = pickle_.items(value);
    const bool sound =
        (pickle_.kind(value) == Kind::kTuple || pickle_.kind(value) == Kind::kList) &&
        items.size() <= 64 && std::all_of(items.begin(), items.end(), [this](Ref item) {
          return pickle_.kind(item) == Kind::kInt;
        });
    Check(sound, ErrorCode::kCorruptFile,
          "tensor '{}' of {} has a size or stride that is no list of numbers: {}", tensor, where_,
          kDamaged);
    std::vector<int64_t> extents;
    for (const Ref item : items) extents.push_back(pickle_.integer(item));
    return extents;
  }

  Shape Strides(const std::vector<int64_t>& strides, const Shape& shape,
                std::string_view tensor) const {
    const bool sound =
        static_cast<int>(strides.size()) == shape.rank() &&
        std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; });
    Check(sound, ErrorCode::kCorruptFile,
          "tensor '{}' of {} has shape {} but strides of another length or sign: {}", tensor,
          where_, shape, kDamaged);
    return Shape(strides);
  }

  // Byte of the file at which the first element lies, once all elements are known to lie inside the
  // storage.
  uint64_t FirstByte(Ref offset, const StoredTensor& tensor, const Storage& storage,
                     std::string_view name) const {
    Check(pickle_.kind(offset) == Kind::kInt && pickle_.integer(offset) >= 0,
          ErrorCode::kCorruptFile, "tensor '{}' of {} has no valid offset: {}", name, where_,
          kDamaged);
    const auto first = static_cast<uint64_t>(pickle_.integer(offset));
    const std::optional<int64_t> extent = StridedExtent(tensor.info.shape, tensor.strides);
    const uint64_t available = storage.size / SizeOf(tensor.info.dtype);
    Check(
        extent && (*extent == 0 ||
                   (first <= available && static_cast<uint64_t>(*extent) <= available - first)),
        ErrorCode::kCorruptFile,
        "tensor '{}' of {} (shape {}, strides {}, offset {}) does not lie inside its storage of {} "
        "elements: {}",
        name, where_, tensor.info.shape, tensor.strides, first, available, kDamaged);
    if (*extent == 0) return storage.offset;
    return storage.offset + first * SizeOf(tensor.info.dtype);
  }

  // A persistent reference ("storage", type, key, device, number of elements).
  Storage ReadStorage(Ref value, std::string_view tensor) const {
    const bool persistent = pickle_.kind(value) == Kind::kPersistent;
    const std::span<const Ref> id =
        persistent ? pickle_.items(pickle_.items(value)[0]) : std::span<const Ref>();
    const bool sound = id.size() >= 5 && pickle_.kind(id[0]) == Kind::kText &&
                       pickle_.text(id[0]) == "storage" && pickle_.kind(id[1]) == Kind::kName &&
                       pickle_.global(id[1]) == GlobalKind::kStorage &&
                       pickle_.kind(id[2]) == Kind::kText && pickle_.kind(id[4]) == Kind::kInt &&
                       pickle_.integer(id[4]) >= 0;
    Check(sound, ErrorCode::kCorruptFile, "tensor '{}' of {} does not say where its data is: {}",
          tensor, where_, kDamaged);
    const std::string entry = prefix_ + "data/" + std::string(Key(id[2]));
    const ZipDirectory::Contents contents = zip_.Open(entry);
    Storage storage{contents.offset, contents.bytes.size(), StorageType(pickle_.name(id[1]))};
    const uint64_t element = storage.dtype ? SizeOf(*storage.dtype) : 1;
    const auto count = static_cast<uint64_t>(pickle_.integer(id[4]));
    Check(count <= storage.size / element, ErrorCode::kCorruptFile,
          "the data of tensor '{}' in {} ('{}') has {} bytes where {} elements are promised: {}",
          tensor, where_, entry, storage.size, count, kDamaged);
    storage.size = count * element;
    return storage;
  }

  const std::string& where_;
  ZipDirectory zip_;
  std::string prefix_;
  Pickle pickle_;
  std::vector<bool> visited_;
};

}  // namespace

StoredTensors ParseTorchPt(std::span<const std::byte> bytes, const std::string& name) {
  return TorchReader(bytes, name).Read();
}

std::unique_ptr<TensorSource> OpenTorchPt(const std::filesystem::path& path) {
  FileMapping file(path);
  StoredTensors stored = ParseTorchPt(file.bytes(), path.string());
  return std::make_unique<StoredTensorSource>(path.string(), std::move(stored), std::move(file));
}

}  // namespace lingbot
