#ifndef LINGBOT_TENSOR_MIRRORED_MEMORY_H_
#define LINGBOT_TENSOR_MIRRORED_MEMORY_H_

#include <cstddef>
#include <vector>

#include "tensor/buffer.h"

namespace lingbot {

// An array that the host writes and the device reads.
template <typename T>
struct Mirrored {
  T* host = nullptr;
  const T* device = nullptr;  // the same memory on the CPU
};

// Small values that change from step to step: page lists, lengths, angles. They are set aside while
// a session is built, written by the host before each step and reach a GPU in one copy, so that
// launches recorded once find the step's values at the same addresses. On the CPU both sides are
// one.
class MirroredMemory {
 public:
  MirroredMemory(Device device, size_t capacity);

  // Zero-filled, 256-byte aligned. Throws kInternal when the capacity is used up.
  template <typename T>
  Mirrored<T> Allocate(size_t count) {
    const size_t offset = Take(count * sizeof(T));
    return {reinterpret_cast<T*>(host_ + offset), reinterpret_cast<const T*>(device_ + offset)};
  }

  // What has to be copied before a step.
  const std::byte* host() const { return host_; }
  std::byte* device() const { return device_; }
  size_t used() const { return used_; }
  size_t capacity() const { return host_buffer_.bytes(); }

 private:
  size_t Take(size_t bytes);

  Buffer host_buffer_;
  Buffer device_buffer_;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  size_t used_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_TENSOR_MIRRORED_MEMORY_H_
