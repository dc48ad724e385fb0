#include "tensor/buffer.h"

#include <new>

namespace lingbot {

void Buffer::Free::operator()(void* memory) const {
  ::operator delete (memory, std::align_val_t{kAlignment});
}

Buffer::Buffer(DType dtype, const Shape& shape) : view_(nullptr, dtype, shape) {
  const size_t size = bytes() == 0 ? 1 : bytes();
  memory_.reset(::operator new (size, std::align_val_t{kAlignment}));
  view_ = TensorView(memory_.get(), dtype, shape);
}

}  // namespace lingbot
