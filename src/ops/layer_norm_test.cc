#include "ops/layer_norm.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "ops/test_util.h"

namespace lingbot::ops {
namespace {

TEST(LayerNorm, AgreesWithTheDefinitionForAnyWidthAndOffset) {
  for (int64_t channels : {1, 3, 64, 127, 1024}) {
    for (float offset : {0.0f, 1000.0f}) {
      const Buffer x = RandomFloats({37, channels}, 1);
      for (int64_t i = 0; i < x.shape().elements(); ++i) x.data<float>()[i] += offset;
      const Buffer gamma = RandomFloats({channels}, 2);
      const Buffer beta = RandomFloats({channels}, 3);
      const Buffer expected(DType::kF32, x.shape());
      for (int64_t row = 0; row < 37; ++row) {
        const float* values = x.data<float>() + row * channels;
        double mean = 0.0;
        double variance = 0.0;
        for (int64_t c = 0; c < channels; ++c) mean += values[c];
        mean /= static_cast<double>(channels);
        for (int64_t c = 0; c < channels; ++c) variance += (values[c] - mean) * (values[c] - mean);
        variance /= static_cast<double>(channels);
        for (int64_t c = 0; c < channels; ++c) {
          expected.data<float>()[row * channels + c] = static_cast<float>(
              (values[c] - mean) / std::sqrt(variance + 1e-5) * gamma.data<float>()[c] +
              beta.data<float>()[c]);
        }
      }
      Context context(2, 0);
      LayerNorm(context, x.view(), gamma.view(), beta.view(), 1e-5f, x.view());
      EXPECT_LT(RelativeL2(x.view(), expected.view()), offset == 0.0f ? 5e-7 : 5e-4) << channels;
    }
  }
}

TEST(LayerNorm, EpsilonMatters) {
  const Buffer x = RandomFloats({1, 8}, 1);
  for (int i = 0; i < 8; ++i) x.data<float>()[i] *= 1e-3f;
  const Buffer ones(DType::kF32, {8});
  const Buffer zeros(DType::kF32, {8});
  for (int i = 0; i < 8; ++i) {
    ones.data<float>()[i] = 1.0f;
    zeros.data<float>()[i] = 0.0f;
  }
  const Buffer a(DType::kF32, {1, 8});
  const Buffer b(DType::kF32, {1, 8});
  Context context(1, 0);
  LayerNorm(context, x.view(), ones.view(), zeros.view(), 1e-5f, a.view());
  LayerNorm(context, x.view(), ones.view(), zeros.view(), 1e-6f, b.view());
  EXPECT_GT(RelativeL2(a.view(), b.view()), 0.1);
  EXPECT_THROW(
      LayerNorm(context, x.view(), ones.view().Slice(0, 0, 4), zeros.view(), 1e-5f, a.view()),
      Error);
}

}  // namespace
}  // namespace lingbot::ops
