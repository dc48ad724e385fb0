#ifndef LINGBOT_WEIGHTS_PICKLE_GLOBALS_H_
#define LINGBOT_WEIGHTS_PICKLE_GLOBALS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace lingbot {

// What a pickle may mean by a Python name. Nothing behind a name is ever run, whichever kind it is;
// the kind decides how a call of it is understood.
enum class GlobalKind : uint8_t {
  kDict,             // a dictionary: OrderedDict, dict
  kDefaultDict,      // a dictionary whose first argument is not its contents
  kTensor,           // _rebuild_tensor, _rebuild_tensor_v2: storage, offset, size, stride, ...
  kTensorWithDType,  // _rebuild_tensor_v3: the same with an element type
  kWrappedTensor,    // _rebuild_parameter: the first argument is the tensor
  kTypedTensor,      // _rebuild_from_type_v2: function, type, arguments, state
  kOtherTensor,      // sparse, quantised, ...: tensors that cannot be read
  kSize,             // torch.Size
  kStorage,          // torch.FloatStorage, ...: a type of storage
  kInert,            // data that checkpoints carry beside weights; a call makes an opaque value
  kForeign,          // any other name; a call is refused
  kHostile,          // the same in a module that gives a pickle power over the machine
};

GlobalKind ClassifyGlobal(std::string_view module, std::string_view name);

// Element type of a storage class ("FloatStorage") or of a dtype ("float32"); nothing if it is not
// supported. UntypedStorage counts bytes: kU8.
std::optional<DType> StorageType(std::string_view name);
std::optional<DType> TorchType(std::string_view name);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_PICKLE_GLOBALS_H_
