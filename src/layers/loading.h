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
// or kShapeMismatch naming the tensor.
NormWeights LoadNorm(const TensorSource& source, const std::string& name, int64_t channels,
                     float eps);
ops::LinearWeights LoadLinear(const TensorSource& source, const std::string& name, int64_t out,
                              int64_t in, DType storage);
// As LoadLinear with the LayerScale vector `scale_name` (without ".gamma") folded in.
ops::LinearWeights LoadScaledLinear(const TensorSource& source, const std::string& name,
                                    const std::string& scale_name, int64_t out, int64_t in,
                                    DType storage);
ops::ConvWeights LoadConv(const TensorSource& source, const std::string& name, int64_t out,
                          int64_t in, int size, int stride, bool bias);

std::span<const float> FloatsOf(const Buffer& buffer);

}  // namespace lingbot

#endif  // LINGBOT_LAYERS_LOADING_H_
