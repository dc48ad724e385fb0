#include "weights/tensor_source.h"

#include "base/check.h"

namespace lingbot {

const TensorInfo& TensorSource::Find(const std::string& tensor) const {
  const auto found = tensors().find(tensor);
  Check(found != tensors().end(), ErrorCode::kMissingTensor,
        "{} has no tensor '{}' among its {}{}; use a LingBot-Map checkpoint, or download it again",
        name(), tensor, tensors().size(),
        tensors().empty() ? "" : fmt::format(" (the first is '{}')", tensors().begin()->first));
  return found->second;
}

Buffer TensorSource::Read(const std::string& tensor, const Shape& expected) const {
  const TensorInfo& info = Find(tensor);
  Check(info.shape == expected, ErrorCode::kShapeMismatch,
        "tensor '{}' of {} has shape {} where the model's other sizes ask for {}; use a checkpoint "
        "and settings that belong together",
        tensor, name(), info.shape, expected);
  Buffer buffer(DType::kF32, expected);
  ReadFloats(tensor, buffer.data<float>());
  return buffer;
}

}  // namespace lingbot
