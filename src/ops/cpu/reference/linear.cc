#include "ops/cpu/reference/linear.h"

#include <cmath>

namespace lingbot::ops::reference {

void Linear(const TensorView& x, const TensorView& weight, const float* bias,
            LinearEpilogue epilogue, const TensorView& y) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const float* source = x[row].data<float>();
    for (int64_t o = 0; o < weight.dim(0); ++o) {
      const float* kernel = weight[o].data<float>();
      double sum = bias == nullptr ? 0.0 : bias[o];
      for (int64_t i = 0; i < weight.dim(1); ++i) sum += static_cast<double>(source[i]) * kernel[i];
      if (epilogue == LinearEpilogue::kGelu) sum *= 0.5 * (1.0 + std::erf(sum / std::sqrt(2.0)));
      float& target = y[row].data<float>()[o];
      target = static_cast<float>(epilogue == LinearEpilogue::kAccumulate ? target + sum : sum);
    }
  }
}

}  // namespace lingbot::ops::reference
