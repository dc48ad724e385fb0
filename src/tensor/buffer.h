#ifndef LINGBOT_TENSOR_BUFFER_H_
#define LINGBOT_TENSOR_BUFFER_H_

#include <memory>

#include "tensor/tensor_view.h"

namespace lingbot {

// Every allocation starts at a multiple of this: a cache line, and the widest vector register.
inline constexpr size_t kAlignment = 64;

// Owns the memory of one contiguous tensor. The contents of a new buffer are undefined.
class Buffer {
 public:
  Buffer() = default;
  Buffer(DType dtype, const Shape& shape);

  const TensorView& view() const { return view_; }
  const Shape& shape() const { return view_.shape(); }
  template <typename T>
  T* data() const {
    return view_.data<T>();
  }
  size_t bytes() const { return static_cast<size_t>(view_.elements()) * SizeOf(view_.dtype()); }
  bool empty() const { return memory_ == nullptr; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  TensorView view_;
};

}  // namespace lingbot

#endif  // LINGBOT_TENSOR_BUFFER_H_
