#include "ops/cpu/layer_norm.h"

#include <cmath>

namespace lingbot::ops::cpu {

void NormalizeRow(const float* source, int64_t channels, const float* gamma, const float* beta,
                  float eps, float* target) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < channels; ++c) sum += source[c];
  const float mean = sum / static_cast<float>(channels);
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (int64_t c = 0; c < channels; ++c) {
    const float d = source[c] - mean;
    squares += d * d;
  }
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(channels) + eps);
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    target[c] = (source[c] - mean) * scale * gamma[c] + beta[c];
  }
}

}  // namespace lingbot::ops::cpu
