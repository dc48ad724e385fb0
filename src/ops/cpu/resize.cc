#include "ops/cpu/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lingbot::ops::cpu {
namespace {

// Where an output index falls between two input indices.
struct Tap {
  int64_t low, high;
  float weight_high;
};

Tap AlignedTap(int64_t index, int64_t out, int64_t in) {
  const float scale = out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
  const float position = scale * static_cast<float>(index);
  const int64_t low = std::min(static_cast<int64_t>(position), in - 1);
  return {low, std::min(low + 1, in - 1), position - static_cast<float>(low)};
}

// Input range and weights of one output index.
struct Window {
  int64_t begin;
  std::vector<double> weights;
};

double Cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

std::vector<Window> CubicWindows(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double support = 2.0 * stretch;
  std::vector<Window> windows(out);
  for (int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in);
    windows[i].begin = begin;
    double total = 0.0;
    for (int64_t k = begin; k < end; ++k) {
      windows[i].weights.push_back(Cubic((static_cast<double>(k) - center + 0.5) / stretch));
      total += windows[i].weights.back();
    }
    for (double& weight : windows[i].weights) weight /= total;
  }
  return windows;
}

// One pass over rows of `length`-float vectors that lie `stride` apart.
void Combine(const float* source, int64_t stride, const Window& window, int64_t length,
             float* target) {
  std::vector<double> sum(length, 0.0);
  for (size_t k = 0; k < window.weights.size(); ++k) {
    const float* row = source + (window.begin + static_cast<int64_t>(k)) * stride;
    for (int64_t c = 0; c < length; ++c) sum[c] += window.weights[k] * row[c];
  }
  for (int64_t c = 0; c < length; ++c) target[c] = static_cast<float>(sum[c]);
}

}  // namespace

void ResizeBilinear(Context& context, const TensorView& x, const TensorView& y) {
  const int64_t channels = x.dim(2);
  const int64_t width = x.dim(1);
  const float* source = x.data<float>();
  float* target = y.data<float>();
  const Arena::Scope scope(context.arena());
  const TensorView taps_memory =
      context.arena().Allocate(DType::kU8, {y.dim(1) * static_cast<int64_t>(sizeof(Tap))});
  Tap* taps = reinterpret_cast<Tap*>(taps_memory.raw());
  for (int64_t c = 0; c < y.dim(1); ++c) taps[c] = AlignedTap(c, y.dim(1), width);
  context.team().ForRange(y.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Tap v = AlignedTap(row, y.dim(0), x.dim(0));
      for (int64_t column = 0; column < y.dim(1); ++column) {
        const Tap& h = taps[column];
        const float* top_left = source + (v.low * width + h.low) * channels;
        const float* top_right = source + (v.low * width + h.high) * channels;
        const float* bottom_left = source + (v.high * width + h.low) * channels;
        const float* bottom_right = source + (v.high * width + h.high) * channels;
        float* out = target + (row * y.dim(1) + column) * channels;
        const float right = h.weight_high, left = 1.0f - right;
        const float bottom = v.weight_high, top = 1.0f - bottom;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = top * (left * top_left[c] + right * top_right[c]) +
                   bottom * (left * bottom_left[c] + right * bottom_right[c]);
        }
      }
    }
  });
}

void ResizeBicubicAntialiased(const TensorView& x, const TensorView& y) {
  const int64_t channels = x.dim(2);
  const std::vector<Window> across = CubicWindows(x.dim(1), y.dim(1));
  const std::vector<Window> down = CubicWindows(x.dim(0), y.dim(0));
  const int64_t out_row = y.dim(1) * channels;
  std::vector<float> narrowed(x.dim(0) * out_row);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const float* source = x[row].data<float>();
    for (int64_t column = 0; column < y.dim(1); ++column) {
      Combine(source, channels, across[column], channels,
              narrowed.data() + row * out_row + column * channels);
    }
  }
  for (int64_t row = 0; row < y.dim(0); ++row) {
    Combine(narrowed.data(), out_row, down[row], out_row, y[row].data<float>());
  }
}

}  // namespace lingbot::ops::cpu
