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
// LoadLinear for x = what the layer normalisation `norm` of `in` channels puts out.
ops::LinearWeights LoadNormedLinear(const TensorSource& source, const std::string& name,
                                    const std::string& norm, int64_t out, int64_t in,
                                    const ops::Setup& setup);
// In what weights [out, in] of y = x W^T + b are to be held when |x| is `longest` at most: where
// setup.bounded_products() is half precision, in that, if all results lie far inside its range.
DType StorageForBounded(std::span<const float> weight, std::span<const float> bias, double longest,
                        const ops::Setup& setup);
// Most that the length of a normalised vector of `channels` can be.
double LongestNormed(const TensorSource& source, const std::string& norm, int64_t channels);
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
