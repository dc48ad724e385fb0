#include "tensor/mirrored_memory.h"

#include <cstring>

#include "base/check.h"

namespace lingbot {

MirroredMemory::MirroredMemory(Device device, size_t capacity)
    : host_buffer_(DType::kU8, {static_cast<int64_t>(capacity)},
                   device == Device::kCuda ? MemoryKind::kPinned : MemoryKind::kPageable) {
  host_ = static_cast<std::byte*>(host_buffer_.view().raw());
  std::memset(host_, 0, capacity);
  device_ = host_;
  if (device == Device::kCuda) {
    device_buffer_ = host_buffer_.CopyTo(device);
    device_ = static_cast<std::byte*>(device_buffer_.view().raw());
  }
}

size_t MirroredMemory::Take(size_t bytes) {
  const size_t rounded = (bytes + kGpuAlignment - 1) / kGpuAlignment * kGpuAlignment;
  Check(rounded <= capacity() - used_, ErrorCode::kInternal,
        "the plan of the step's inputs is too small: {} of {} bytes in use, {} wanted", used_,
        capacity(), bytes);
  const size_t offset = used_;
  used_ += rounded;
  return offset;
}

}  // namespace lingbot
