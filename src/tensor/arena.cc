#include "tensor/arena.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/buffer.h"

namespace lingbot {

Arena::Arena(size_t capacity) : memory_(capacity) {}

size_t Arena::BytesFor(DType dtype, int64_t elements) {
  const size_t bytes = static_cast<size_t>(elements) * SizeOf(dtype);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

TensorView Arena::Allocate(DType dtype, const Shape& shape) {
  const size_t bytes = BytesFor(dtype, shape.elements());
  Check(
      bytes <= memory_.size() - used_, ErrorCode::kInternal,
      "the workspace plan is too small: {} of {} bytes in use, {} wanted for a tensor of shape {}",
      used_, memory_.size(), bytes, shape);
  TensorView view(memory_.data() + used_, dtype, shape);
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return view;
}

}  // namespace lingbot
