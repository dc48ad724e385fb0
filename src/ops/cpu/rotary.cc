#include "ops/cpu/rotary.h"

#include "ops/cpu/layer_norm.h"

namespace lingbot::ops::cpu {
namespace {

void RotateAdjacent(float* x, int64_t pairs, const float* cos, const float* sin) {
  for (int64_t p = 0; p < pairs; ++p) {
    const float a = x[2 * p];
    const float b = x[2 * p + 1];
    x[2 * p] = a * cos[p] - b * sin[p];
    x[2 * p + 1] = b * cos[p] + a * sin[p];
  }
}

void RotateHalves(float* x, int64_t pairs, const float* cos, const float* sin) {
  const int64_t per_half = pairs / 2;
  for (int64_t half = 0; half < 2; ++half) {
    float* first = x + half * pairs;
    float* second = first + per_half;
    const float* c = cos + half * per_half;
    const float* s = sin + half * per_half;
#pragma omp simd
    for (int64_t p = 0; p < per_half; ++p) {
      const float a = first[p];
      const float b = second[p];
      first[p] = a * c[p] - b * s[p];
      second[p] = b * c[p] + a * s[p];
    }
  }
}

}  // namespace

void NormRotate(Context& context, const TensorView& x, const HeadNorm& norm,
                const RotaryTable& table) {
  float* data = x.data<float>();
  const float* gamma = norm.gamma.data<float>();
  const float* beta = norm.beta.data<float>();
  const float* cos = table.cos.data<float>();
  const float* sin = table.sin.data<float>();
  const int64_t head_dim = x.dim(2);
  const int64_t pairs = head_dim / 2;
  const bool adjacent = table.pairing == RotaryPairing::kAdjacent;
  context.team().ForRange(x.dim(0), 8, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      const int64_t row = token % table.cos.dim(0) * pairs;
      for (int64_t head = 0; head < x.dim(1); ++head) {
        float* values = data + token * x.stride(0) + head * x.stride(1);
        NormalizeRow(values, head_dim, gamma, beta, norm.eps, values);
        if (norm.scale != 1.0f) {
          for (int64_t c = 0; c < head_dim; ++c) values[c] *= norm.scale;
        }
        if (adjacent) {
          RotateAdjacent(values, pairs, cos + row, sin + row);
        } else {
          RotateHalves(values, pairs, cos + row, sin + row);
        }
      }
    }
  });
}

}  // namespace lingbot::ops::cpu
