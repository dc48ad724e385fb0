#ifndef LINGBOT_OPS_TEST_UTIL_H_
#define LINGBOT_OPS_TEST_UTIL_H_

#include <cmath>
#include <random>

#include "tensor/buffer.h"

namespace lingbot {

// Uniform in [-1, 1), the same on every machine.
inline Buffer RandomFloats(const Shape& shape, uint32_t seed) {
  Buffer buffer(DType::kF32, shape);
  std::mt19937 generator(seed);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    buffer.data<float>()[i] = static_cast<float>(static_cast<int32_t>(generator())) * 0x1p-31f;
  }
  return buffer;
}

// |a - b| / |b| over all elements of two contiguous float32 tensors; NaN if any element is.
inline double RelativeL2(const TensorView& a, const TensorView& b) {
  double difference = 0.0;
  double norm = 0.0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i];
    const double y = b.data<float>()[i];
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

}  // namespace lingbot

#endif  // LINGBOT_OPS_TEST_UTIL_H_
