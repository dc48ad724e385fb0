#include "layers/loading.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lingbot {
namespace {

// Half the largest number of half precision.
constexpr double kHalfRange = 32752.0;

double SquaredLength(const float* values, int64_t count) {
  constexpr int64_t kLanes = 16;  // independent sums, which vectorise
  float sums[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) sums[i % kLanes] += values[i] * values[i];
  double total = 0.0;
  for (const float sum : sums) total += sum;
  return total;
}

// Most that |y| can be of y = x W^T + b with |x| <= `longest`, by Cauchy and Schwarz; NaN and
// infinity count as no bound.
double LargestResult(std::span<const float> weight, std::span<const float> bias, double longest) {
  const auto in = static_cast<int64_t>(weight.size() / bias.size());
  double largest = 0.0;
  for (size_t o = 0; o < bias.size(); ++o) {
    const float* row = weight.data() + static_cast<int64_t>(o) * in;
    const double most = longest * std::sqrt(SquaredLength(row, in)) + std::abs(bias[o]);
    if (!(most <= largest)) largest = most;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace

std::span<const float> FloatsOf(const Buffer& buffer) {
  return {buffer.data<float>(), static_cast<size_t>(buffer.shape().elements())};
}

NormWeights LoadNorm(const TensorSource& source, const std::string& name, int64_t channels,
                     float eps, const ops::Setup& setup) {
  return {LoadTable(source, name + ".weight", {channels}, setup),
          LoadTable(source, name + ".bias", {channels}, setup), eps};
}

Buffer LoadTable(const TensorSource& source, const std::string& name, const Shape& shape,
                 const ops::Setup& setup) {
  return OnDevice(source.Read(name, shape), setup);
}

Buffer OnDevice(Buffer table, const ops::Setup& setup) {
  return setup.on_gpu() ? table.CopyTo(setup.device) : std::move(table);
}

ops::LinearWeights LoadLinear(const TensorSource& source, const std::string& name, int64_t out,
                              int64_t in, const ops::Setup& setup) {
  const Buffer weight = source.Read(name + ".weight", {out, in});
  const Buffer bias = source.Read(name + ".bias", {out});
  return {FloatsOf(weight), FloatsOf(bias), {}, out, in, setup};
}

DType StorageForBounded(std::span<const float> weight, std::span<const float> bias, double longest,
                        const ops::Setup& setup) {
  const DType bounded = setup.bounded_products();
  if (bounded == setup.storage) return bounded;
  return LargestResult(weight, bias, longest) < kHalfRange && longest < kHalfRange ? bounded
                                                                                   : setup.storage;
}

// Without gamma and beta the length is sqrt(channels) at most.
double LongestNormed(const TensorSource& source, const std::string& norm, int64_t channels) {
  const Buffer gamma = source.Read(norm + ".weight", {channels});
  const Buffer beta = source.Read(norm + ".bias", {channels});
  double largest = 0.0, beta_squared = 0.0;
  for (int64_t i = 0; i < channels; ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(gamma.data<float>()[i])));
    beta_squared += static_cast<double>(beta.data<float>()[i]) * beta.data<float>()[i];
  }
  return std::sqrt(static_cast<double>(channels)) * largest + std::sqrt(beta_squared);
}

ops::LinearWeights LoadNormedLinear(const TensorSource& source, const std::string& name,
                                    const std::string& norm, int64_t out, int64_t in,
                                    const ops::Setup& setup) {
  const Buffer weight = source.Read(name + ".weight", {out, in});
  const Buffer bias = source.Read(name + ".bias", {out});
  const DType storage =
      StorageForBounded(FloatsOf(weight), FloatsOf(bias), LongestNormed(source, norm, in), setup);
  return {FloatsOf(weight), FloatsOf(bias), {}, out, in, setup.With(storage)};
}

ops::LinearWeights LoadScaledLinear(const TensorSource& source, const std::string& name,
                                    const std::string& scale_name, int64_t out, int64_t in,
                                    const ops::Setup& setup) {
  const Buffer weight = source.Read(name + ".weight", {out, in});
  const Buffer bias = source.Read(name + ".bias", {out});
  const Buffer scale = source.Read(scale_name + ".gamma", {out});
  return {FloatsOf(weight), FloatsOf(bias), FloatsOf(scale), out, in, setup};
}

ops::ConvWeights LoadConv(const TensorSource& source, const std::string& name, int64_t out,
                          int64_t in, int size, int stride, bool bias, const ops::Setup& setup) {
  const Buffer weight = source.Read(name + ".weight", {out, in, size, size});
  const Buffer bias_values = bias ? source.Read(name + ".bias", {out}) : Buffer(DType::kF32, {0});
  return {FloatsOf(weight), FloatsOf(bias_values), out, in, size, stride, setup};
}

}  // namespace lingbot
