#ifndef LINGBOT_LAYERS_LOADING_H_
#define LINGBOT_LAYERS_LOADING_H_

#include <string>

#include "ops/conv.h"
#include "ops/linear.h"
#include "weights/tensor_source.h"

namespace lingbot {

// gamma and beta of a layer normalisation.
struct NormWeights {
  Buffer gamma;  // [channels]
  Buffer beta;   // [channels]
  float eps = 0.0f;

  size_t bytes() const { return gamma.bytes() + beta.bytes(); }
};

// Reads tensors below `name` ("norm1" reads norm1.weight and norm1.bias). All throw kMissingTensor
// or kShapeMismatch naming the tensor. Weights end up where and as `setup` says.
NormWeights LoadNorm(const TensorSource& source, const std::string& name, int64_t channels,
                     float eps, const ops::Setup& setup);
ops::LinearWeights LoadLinear(const TensorSource& source, const std::string& name, int64_t out,
                              int64_t in, const ops::Setup& setup);
// As LoadLinear with the LayerScale vector `scale_name` (without ".gamma") folded in.
ops::LinearWeights LoadScaledLinear(const TensorSource& source, const std::string& name,
                                    const std::string& scale_name, int64_t out, int64_t in,
                                    const ops::Setup& setup);
ops::ConvWeights LoadConv(const TensorSource& source, const std::string& name, int64_t out,
                          int64_t in, int size, int stride, bool bias, const ops::Setup& setup);
// A tensor as it is, float32, in memory of the setup's device.
Buffer LoadTable(const TensorSource& source, const std::string& name, const Shape& shape,
                 const ops::Setup& setup);
// `table`, made on the CPU, in memory of the setup's device.
Buffer OnDevice(Buffer table, const ops::Setup& setup);

std::span<const float> FloatsOf(const Buffer& buffer);

}  // namespace lingbot

#endif  // LINGBOT_LAYERS_LOADING_H_
