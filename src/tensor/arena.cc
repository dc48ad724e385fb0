#include "tensor/arena.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/buffer.h"

namespace lingbot {

Arena::Arena(size_t capacity, Device device) : device_(device), capacity_(capacity) {
  if (device == Device::kCuda) {
    gpu_ = Buffer(DType::kU8, {static_cast<int64_t>(capacity)}, MemoryKind::kCuda);
    data_ = static_cast<std::byte*>(gpu_.view().raw());
  } else {
    host_ = LazyMemory(capacity);
    data_ = host_.data();
  }
}

size_t Arena::BytesFor(DType dtype, int64_t elements) {
  const size_t bytes = static_cast<size_t>(elements) * SizeOf(dtype);
  return (bytes + kGpuAlignment - 1) / kGpuAlignment * kGpuAlignment;
}

TensorView Arena::Allocate(DType dtype, const Shape& shape) {
  const size_t bytes = BytesFor(dtype, shape.elements());
  Check(
      bytes <= capacity_ - used_, ErrorCode::kInternal,
      "the workspace plan is too small: {} of {} bytes in use, {} wanted for a tensor of shape {}",
      used_, capacity_, bytes, shape);
  TensorView view(data_ + used_, dtype, shape, device_);
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return view;
}

}  // namespace lingbot
