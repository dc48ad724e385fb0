#include "ops/cpu/dnnl_compat.h"

namespace lingbot::ops::cpu {

using dnnl::algorithm;
using dnnl::convolution_forward;
using dnnl::matmul;
using dnnl::memory;

const dnnl::engine& DnnlEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

#if DNNL_VERSION_MAJOR >= 3

void AppendRelu(dnnl::post_ops& post_ops) {
  post_ops.append_eltwise(algorithm::eltwise_relu, 0.0f, 0.0f);
}

void AppendGelu(dnnl::post_ops& post_ops) {
  post_ops.append_eltwise(algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
}

matmul::primitive_desc MatmulDesc(const memory::desc& source, const memory::desc& weights,
                                  const memory::desc& bias, const memory::desc& target,
                                  const dnnl::primitive_attr& attributes) {
  return matmul::primitive_desc(DnnlEngine(), source, weights, bias, target, attributes);
}

convolution_forward::primitive_desc ConvolutionDesc(
    const memory::desc& source, const memory::desc& weights, const memory::desc& bias,
    const memory::desc& target, int stride, int padding, const dnnl::primitive_attr& attributes) {
  return convolution_forward::primitive_desc(
      DnnlEngine(), dnnl::prop_kind::forward_inference, algorithm::convolution_direct, source,
      weights, bias, target, {stride, stride}, {padding, padding}, {padding, padding}, attributes);
}

#else

void AppendRelu(dnnl::post_ops& post_ops) {
  post_ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
}

void AppendGelu(dnnl::post_ops& post_ops) {
  post_ops.append_eltwise(1.0f, algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
}

matmul::primitive_desc MatmulDesc(const memory::desc& source, const memory::desc& weights,
                                  const memory::desc& bias, const memory::desc& target,
                                  const dnnl::primitive_attr& attributes) {
  return matmul::primitive_desc(matmul::desc(source, weights, bias, target), attributes,
                                DnnlEngine());
}

convolution_forward::primitive_desc ConvolutionDesc(
    const memory::desc& source, const memory::desc& weights, const memory::desc& bias,
    const memory::desc& target, int stride, int padding, const dnnl::primitive_attr& attributes) {
  return convolution_forward::primitive_desc(
      convolution_forward::desc(dnnl::prop_kind::forward_inference, algorithm::convolution_direct,
                                source, weights, bias, target, {stride, stride}, {padding, padding},
                                {padding, padding}),
      attributes, DnnlEngine());
}

#endif

}  // namespace lingbot::ops::cpu
