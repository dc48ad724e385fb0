#ifndef LINGBOT_TENSOR_BUFFER_H_
#define LINGBOT_TENSOR_BUFFER_H_

#include <memory>

#include "tensor/tensor_view.h"

namespace lingbot {

// Every allocation starts at a multiple of this: a cache line, and the widest vector register. GPU
// arenas use kGpuAlignment.
inline constexpr size_t kAlignment = 64;
inline constexpr size_t kGpuAlignment = 256;

// Where a buffer's memory comes from.
enum class MemoryKind {
  kPageable,  // of the host
  kPinned,    // of the host, page-locked: the GPU copies it without staging
  kCuda,      // of the current GPU
};

struct FreeMemory {
  MemoryKind kind = MemoryKind::kPageable;
  void operator()(void* memory) const;
};

// Owns the memory of one contiguous tensor. The contents of a new buffer are undefined.
class Buffer {
 public:
  Buffer() = default;
  Buffer(DType dtype, const Shape& shape, MemoryKind kind = MemoryKind::kPageable);

  // A copy on the given device; complete when it returns.
  Buffer CopyTo(Device device) const;

  const TensorView& view() const { return view_; }
  const Shape& shape() const { return view_.shape(); }
  template <typename T>
  T* data() const {
    return view_.data<T>();
  }
  size_t bytes() const { return static_cast<size_t>(view_.elements()) * SizeOf(view_.dtype()); }
  bool empty() const { return memory_ == nullptr; }

 private:
  std::unique_ptr<void, FreeMemory> memory_;
  TensorView view_;
};

// The kind of memory that tensors on `device` have.
inline MemoryKind MemoryOn(Device device) {
  return device == Device::kCuda ? MemoryKind::kCuda : MemoryKind::kPageable;
}

}  // namespace lingbot

#endif  // LINGBOT_TENSOR_BUFFER_H_
