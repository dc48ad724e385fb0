#include "ops/cpu/reference/conv.h"

#include <algorithm>

namespace lingbot::ops::reference {
namespace {

// Sum over the kernel's window at output position (row, column) for output channel o.
double Window(const TensorView& x, const TensorView& weight, int stride, int64_t row,
              int64_t column, int64_t o) {
  const int64_t size = weight.dim(2);
  double sum = 0.0;
  for (int64_t dr = 0; dr < size; ++dr) {
    for (int64_t dc = 0; dc < size; ++dc) {
      const int64_t r = row * stride + dr - size / 2;
      const int64_t c = column * stride + dc - size / 2;
      if (r < 0 || r >= x.dim(0) || c < 0 || c >= x.dim(1)) continue;
      const float* pixel = x.data<float>() + (r * x.dim(1) + c) * x.dim(2);
      const float* kernel = weight.data<float>() + (o * x.dim(2) * size + dr) * size + dc;
      for (int64_t i = 0; i < x.dim(2); ++i) {
        sum += static_cast<double>(pixel[i]) * kernel[i * size * size];
      }
    }
  }
  return sum;
}

}  // namespace

void Conv2d(const TensorView& x, const TensorView& weight, const float* bias, int stride,
            ConvEpilogue epilogue, const TensorView& y) {
  for (int64_t row = 0; row < y.dim(0); ++row) {
    for (int64_t column = 0; column < y.dim(1); ++column) {
      for (int64_t o = 0; o < y.dim(2); ++o) {
        double sum = Window(x, weight, stride, row, column, o) + (bias == nullptr ? 0.0 : bias[o]);
        float& target = y[row][column].data<float>()[o];
        if (epilogue == ConvEpilogue::kRelu) sum = std::max(sum, 0.0);
        target = static_cast<float>(epilogue == ConvEpilogue::kAccumulate ? target + sum : sum);
      }
    }
  }
}

}  // namespace lingbot::ops::reference
