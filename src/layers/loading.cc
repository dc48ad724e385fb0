#include "layers/loading.h"

#include <utility>

namespace lingbot {

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
