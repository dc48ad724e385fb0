#include "tensor/buffer.h"

#include <cstring>
#include <new>

#include "tensor/device_memory.h"

namespace lingbot {
namespace {

void* Allocate(size_t bytes, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPinned:
      return AllocatePinned(bytes);
    case MemoryKind::kCuda:
      return AllocateCuda(bytes);
    case MemoryKind::kPageable:
      break;
  }
  return ::operator new (bytes, std::align_val_t{kAlignment});
}

}  // namespace

void FreeMemory::operator()(void* memory) const {
  switch (kind) {
    case MemoryKind::kPinned:
      return FreePinned(memory);
    case MemoryKind::kCuda:
      return FreeCuda(memory);
    case MemoryKind::kPageable:
      break;
  }
  ::operator delete (memory, std::align_val_t{kAlignment});
}

Buffer::Buffer(DType dtype, const Shape& shape, MemoryKind kind) : view_(nullptr, dtype, shape) {
  const size_t size = bytes() == 0 ? 1 : bytes();
  memory_ = std::unique_ptr<void, FreeMemory>(Allocate(size, kind), FreeMemory{kind});
  view_ = TensorView(memory_.get(), dtype, shape,
                     kind == MemoryKind::kCuda ? Device::kCuda : Device::kCpu);
}

Buffer Buffer::CopyTo(Device device) const {
  Buffer copy(view_.dtype(), view_.shape(), MemoryOn(device));
  if (view_.device() == Device::kCpu && device == Device::kCpu) {
    std::memcpy(copy.view_.raw(), view_.raw(), bytes());
  } else if (device == Device::kCuda && view_.device() == Device::kCpu) {
    CopyToCuda(copy.view_.raw(), view_.raw(), bytes());
  } else {
    // cudaMemcpy tells the direction from the addresses of the rest.
    CopyFromCuda(copy.view_.raw(), view_.raw(), bytes());
  }
  return copy;
}

}  // namespace lingbot
