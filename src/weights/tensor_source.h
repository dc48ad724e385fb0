#ifndef LINGBOT_WEIGHTS_TENSOR_SOURCE_H_
#define LINGBOT_WEIGHTS_TENSOR_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace lingbot {

struct TensorInfo {
  DType dtype = DType::kF32;
  Shape shape;
};

// Named tensors from wherever: a safetensors file, a PyTorch .pt file, or generated weights.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // All tensors by name, prefixes such as "module." already stripped.
  virtual const std::map<std::string, TensorInfo>& tensors() const = 0;

  // Free-form key/value pairs of the file (safetensors' __metadata__); empty for formats without.
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // Where it comes from, for messages: a path, or "generated weights, seed 7".
  virtual const std::string& name() const = 0;

  // Elements of a tensor in row-major order, converted to float32, into `target` (elements()
  // floats). Strides of the file are honoured. Memory mapped for the read is given back before
  // returning. Throws kMissingTensor if there is no such tensor.
  virtual void ReadFloats(const std::string& tensor, float* target) const = 0;

  // The same into a new buffer after checking the shape. Throws kMissingTensor or kShapeMismatch,
  // naming the tensor, the source, and the expected and actual shape.
  Buffer Read(const std::string& tensor, const Shape& expected) const;

  // Type and shape of a tensor. Throws kMissingTensor, naming the tensor and the source.
  const TensorInfo& Find(const std::string& tensor) const;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_TENSOR_SOURCE_H_
