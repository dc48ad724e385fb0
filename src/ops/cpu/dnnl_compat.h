#ifndef LINGBOT_OPS_CPU_DNNL_COMPAT_H_
#define LINGBOT_OPS_CPU_DNNL_COMPAT_H_

#include <dnnl.hpp>

// oneDNN's API changed between versions 2 and 3; the calls that differ are wrapped here and nowhere
// else.
namespace lingbot::ops::cpu {

const dnnl::engine& DnnlEngine();

void AppendRelu(dnnl::post_ops& post_ops);
void AppendGelu(dnnl::post_ops& post_ops);

dnnl::matmul::primitive_desc MatmulDesc(const dnnl::memory::desc& source,
                                        const dnnl::memory::desc& weights,
                                        const dnnl::memory::desc& bias,
                                        const dnnl::memory::desc& target,
                                        const dnnl::primitive_attr& attributes);

// Padding is the same on all four sides. `bias` may be the empty descriptor.
dnnl::convolution_forward::primitive_desc ConvolutionDesc(const dnnl::memory::desc& source,
                                                          const dnnl::memory::desc& weights,
                                                          const dnnl::memory::desc& bias,
                                                          const dnnl::memory::desc& target,
                                                          int stride, int padding,
                                                          const dnnl::primitive_attr& attributes);

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_DNNL_COMPAT_H_
