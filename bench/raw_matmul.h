#ifndef LINGBOT_BENCH_RAW_MATMUL_H_
#define LINGBOT_BENCH_RAW_MATMUL_H_

#include <functional>

#include "ops/context.h"
#include "tensor/buffer.h"

namespace lingbot {

// Sizes of a product [rows, in] x [in, out].
struct ProductShape {
  int64_t rows, in, out;
  double operations() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  }
};

// Random numbers in [-1, 1), the same at every call.
Buffer RandomBuffer(DType dtype, const Shape& shape);

// How the weights of a product lie in memory.
enum class WeightLayout {
  kChosen,  // as the matrix library wants for this shape
  kInOut,   // [in, out]
  kOutIn,   // [out, in]
};

// The matrix library alone, as a yardstick: the product of that shape in `dtype` (kF32, or kBF16
// where native) into float32, with random weights of its own, a bias, and nothing after it. The
// call computes one product with the threads of `context`, which must outlive it.
std::function<void()> RawMatmul(ops::Context& context, const ProductShape& shape, DType dtype,
                                WeightLayout layout);

// The layout with which RawMatmul is fastest; what the library chooses is not always it.
WeightLayout FastestLayout(ops::Context& context, const ProductShape& shape, DType dtype);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_RAW_MATMUL_H_
