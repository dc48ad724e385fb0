#ifndef LINGBOT_OPS_CUDA_CONV_PLAN_H_
#define LINGBOT_OPS_CUDA_CONV_PLAN_H_

#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/cuda/plain_conv.h"

namespace lingbot::ops::cuda {

void CheckCudnn(cudnnStatus_t status, const char* call);

// Owns a descriptor of cuDNN's graph interface.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return handle_; }
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void Set(cudnnBackendAttributeName_t name, int64_t value);
  // Whether the library accepts it: a refusal is an answer here, not a fault.
  bool Finalize();

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// A convolution that is ready to run.
struct ConvPlan {
  CudnnDescriptor plan;
  // Bias and epilogue are inside the library's kernel; else it computes the convolution alone (with
  // y += for kAccumulate) and the rest is a pass of ours.
  bool fused = false;
  bool reads_bias = false;  // whether the graph has a bias
  bool reads_y = false;     // whether it adds y as a tensor of its own
  bool runtime_compiled = false;
  size_t workspace_bytes = 0;
  int64_t engine = 0;
};

// Plans for the shape in the library's order of preference, at most `limit`. Passed over are
// engines that are not deterministic, that want more than `workspace_bytes`, that change the
// arithmetic (tf32 for float32 data, transforms, 16-bit sums) and, unless `runtime_compiled`, those
// that compile at run time.
std::vector<ConvPlan> MakeConvPlans(cudnnHandle_t handle, const ConvShape& shape, bool fused,
                                    size_t workspace_bytes, bool runtime_compiled, size_t limit);

// Whether the library accepted: some engines refuse only here, before they launch anything.
bool RunConvPlan(cudnnHandle_t handle, const ConvPlan& plan, const ConvOperands& operands,
                 void* workspace);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_CONV_PLAN_H_
