#ifndef LINGBOT_OPS_CONV_H_
#define LINGBOT_OPS_CONV_H_

#include <memory>
#include <span>

#include "ops/context.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

enum class ConvEpilogue {
  kStore,       // y = conv(x)
  kRelu,        // y = max(conv(x), 0)
  kAccumulate,  // y += conv(x)
};

// Kernel and bias of a square convolution in the form that the device likes. Immutable; shared by
// sessions.
class ConvWeights {
 public:
  ConvWeights();
  // weight [out, in, size, size] and bias [out] in float32; an empty bias is zero. Padding is
  // size/2 on all sides. On a GPU stored as setup.storage (kF32 or kF16).
  ConvWeights(std::span<const float> weight, std::span<const float> bias, int64_t out, int64_t in,
              int size, int stride, const Setup& setup);
  ~ConvWeights();
  ConvWeights(ConvWeights&&) noexcept;
  ConvWeights& operator=(ConvWeights&&) noexcept;

  int64_t in() const;
  int64_t out() const;
  int64_t OutputSize(int64_t input_size) const;  // rows or columns
  size_t bytes() const;

  struct Packed;  // defined by the back end
  const Packed& packed() const { return *packed_; }

 private:
  std::unique_ptr<Packed> packed_;
};

// x [rows, columns, in], y [output rows, output columns, out]; contiguous, channels last; float32
// on the CPU, the type of the weights on a GPU.
void Conv2d(Context& context, const TensorView& x, const ConvWeights& weights,
            ConvEpilogue epilogue, const TensorView& y);

// Rows (or columns) that a square kernel of `size` makes of `input_size` rows.
int64_t ConvOutputSize(int64_t input_size, int size, int stride);

// Temporary bytes of one call with a kernel of `size` x `size`. (A GPU's library has its own.)
size_t Conv2dWorkspaceBytes(const Setup& setup, int64_t rows, int64_t columns, int64_t in,
                            int64_t out, int size, int stride);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CONV_H_
