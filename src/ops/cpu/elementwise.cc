#include "ops/cpu/elementwise.h"

#include <cmath>
#include <cstring>

namespace lingbot::ops::cpu {
namespace {

// Items per thread below which starting threads costs more than it saves.
constexpr int64_t kGrain = 1 << 14;

}  // namespace

void Relu(Context& context, float* x, int64_t count) {
  context.team().ForRange(count, kGrain, [&](int64_t begin, int64_t end) {
    // Not std::max: NaN must come through.
    for (int64_t i = begin; i < end; ++i) x[i] = x[i] < 0.0f ? 0.0f : x[i];
  });
}

void Add(Context& context, const float* x, int64_t count, float* y) {
  context.team().ForRange(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] += x[i];
  });
}

void Silu(Context& context, float* x, int64_t count) {
  context.team().ForRange(count, kGrain / 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = x[i] / (1.0f + std::exp(-x[i]));
  });
}

void AddRows(Context& context, const TensorView& table, const TensorView& y) {
  const int64_t channels = y.dim(1);
  const float* rows = table.data<float>();
  float* target = y.data<float>();
  context.team().ForRange(y.dim(0), kGrain / channels + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* add = rows + row % table.dim(0) * channels;
      float* out = target + row * channels;
      for (int64_t c = 0; c < channels; ++c) out[c] += add[c];
    }
  });
}

void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x) {
  const int64_t half = x.dim(2) / 2;
  const float* horizontal = across.data<float>();
  const float* vertical = down.data<float>();
  float* target = x.data<float>();
  context.team().ForRange(x.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t column = 0; column < x.dim(1); ++column) {
        float* out = target + (row * x.dim(1) + column) * 2 * half;
        for (int64_t c = 0; c < half; ++c) out[c] += horizontal[column * half + c];
        for (int64_t c = 0; c < half; ++c) out[half + c] += vertical[row * half + c];
      }
    }
  });
}

void ExtractPatches(Context& context, const TensorView& image, int patch, const float* mean,
                    const float* deviation, const TensorView& out) {
  const int64_t height = image.dim(1);
  const int64_t width = image.dim(2);
  const int64_t columns = width / patch;
  const float* source = image.data<float>();
  float* target = out.data<float>();
  context.team().ForRange(out.dim(0), 16, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      float* row = target + index * out.dim(1);
      const int64_t top = index / columns * patch;
      const int64_t left = index % columns * patch;
      for (int64_t channel = 0; channel < 3; ++channel) {
        for (int64_t y = top; y < top + patch; ++y) {
          const float* pixels = source + (channel * height + y) * width + left;
          for (int64_t x = 0; x < patch; ++x)
            *row++ = (pixels[x] - mean[channel]) / deviation[channel];
        }
      }
    }
  });
}

void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y) {
  const int64_t channels = y.dim(2);
  const int64_t run = size * channels;  // one kernel row is contiguous in x and in y
  const float* source = x.data<float>();
  float* target = y.data<float>();
  context.team().ForRange(x.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t column = 0; column < x.dim(1); ++column) {
        for (int64_t k = 0; k < size; ++k) {
          std::memcpy(target + ((row * size + k) * y.dim(1) + column * size) * channels,
                      source + (row * x.dim(1) + column) * size * run + k * run,
                      static_cast<size_t>(run) * sizeof(float));
        }
      }
    }
  });
}

void DepthActivation(Context& context, const TensorView& x, float* depth, float* confidence) {
  const float* source = x.data<float>();
  context.team().ForRange(x.dim(0), kGrain / 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      depth[i] = std::exp(source[2 * i]);
      confidence[i] = 1.0f + std::exp(source[2 * i + 1]);
    }
  });
}

void Modulate(const TensorView& modulation, const TensorView& plain, const TensorView& normed,
              const TensorView& x) {
  const int64_t c = x.dim(1);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const float* shift = modulation.data<float>() + row * 3 * c;
    const float* scale = shift + c;
    const float* gate = scale + c;
    const float* p = plain.data<float>() + row * c;
    const float* t = normed.data<float>() + row * c;
    float* out = x.data<float>() + row * c;
    for (int64_t i = 0; i < c; ++i) out[i] = gate[i] * (p[i] * (1.0f + scale[i]) + shift[i]) + t[i];
  }
}

void ActivatePose(const TensorView& raw, const TensorView& poses) {
  const int64_t size = raw.dim(1);
  for (int64_t i = 0; i < raw.elements(); ++i) {
    const float value = raw.data<float>()[i];
    const bool angle = i % size >= size - 2;
    poses.data<float>()[i] = angle && value < 0.0f ? 0.0f : value;
  }
}

}  // namespace lingbot::ops::cpu
