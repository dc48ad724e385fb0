#ifndef LINGBOT_TENSOR_ARENA_H_
#define LINGBOT_TENSOR_ARENA_H_

#include <cstddef>

#include "base/system_memory.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace lingbot {

// Temporary tensors of one frame, taken from one region that is planned up front, in stack order.
// On the CPU address space is reserved and memory is spent on what is written; on a GPU it is spent
// at once.
class Arena {
 public:
  explicit Arena(size_t capacity, Device device = Device::kCpu);

  // Throws kInternal if the plan was too small: a bug in the plan, not in the caller.
  TensorView Allocate(DType dtype, const Shape& shape);
  TensorView Floats(const Shape& shape) { return Allocate(DType::kF32, shape); }

  size_t capacity() const { return capacity_; }
  size_t used() const { return used_; }
  size_t high_water() const { return high_water_; }  // most bytes ever in use at once

  // Everything allocated while a Scope lives is returned when it ends.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.used_) {}
    ~Scope() { arena_.used_ = mark_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t mark_;
  };

  // Bytes that one allocation takes on any device, padding included; for planning.
  static size_t BytesFor(DType dtype, int64_t elements);

 private:
  Device device_;
  size_t capacity_;
  LazyMemory host_;
  Buffer gpu_;
  std::byte* data_;
  size_t used_ = 0;
  size_t high_water_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_TENSOR_ARENA_H_
