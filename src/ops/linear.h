#ifndef LINGBOT_OPS_LINEAR_H_
#define LINGBOT_OPS_LINEAR_H_

#include <memory>
#include <span>

#include "ops/context.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

// What happens to x W^T + b before it reaches y.
enum class LinearEpilogue {
  kStore,       // y = x W^T + b
  kGelu,        // y = gelu(x W^T + b), the exact GELU (erf)
  kAccumulate,  // y += x W^T + b
};

// Weight and bias of y = x W^T + b in the form that the device multiplies best. Immutable; shared
// by sessions.
class LinearWeights {
 public:
  LinearWeights();
  // weight [out, in] and bias [out] in float32; an empty bias is zero. `out_scale` [out]
  // (LayerScale), if not empty, is folded into both. setup.storage is kF32 or kBF16 (on a GPU also
  // kF16): bf16 halves the memory, and is multiplied natively where the processor can; elsewhere it
  // is widened panel by panel just before the product.
  LinearWeights(std::span<const float> weight, std::span<const float> bias,
                std::span<const float> out_scale, int64_t out, int64_t in, const Setup& setup);
  ~LinearWeights();
  LinearWeights(LinearWeights&&) noexcept;
  LinearWeights& operator=(LinearWeights&&) noexcept;

  int64_t in() const;
  int64_t out() const;
  DType storage() const;
  DType input() const;   // what x must be
  size_t bytes() const;  // memory held

  struct Packed;  // defined by the back end
  const Packed& packed() const { return *packed_; }

 private:
  std::unique_ptr<Packed> packed_;
};

// x [rows, in] and y [rows, out], both with contiguous channels and any row stride. On the CPU both
// are float32; on a GPU x has the type of the weights and y that type or float32.
void Linear(Context& context, const TensorView& x, const LinearWeights& weights,
            LinearEpilogue epilogue, const TensorView& y);

// Temporary bytes of one call.
size_t LinearWorkspaceBytes(const Setup& setup, int64_t rows, int64_t in, int64_t out);

// Whether bfloat16 products run natively on this processor.
bool HasNativeBFloat16();

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_LINEAR_H_
