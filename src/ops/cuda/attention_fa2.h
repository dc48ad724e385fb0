#ifndef LINGBOT_OPS_CUDA_ATTENTION_FA2_H_
#define LINGBOT_OPS_CUDA_ATTENTION_FA2_H_

#include <cstdint>
#include <memory>

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// Attention by FlashInfer's FA2 kernels (mma.sync), compute capability 8.0 and later; bfloat16 in
// and out, float32 inside. All memory is taken when an object is made, on the device that is
// current then; that device must be current in every later call. Objects are for one stream at a
// time.

bool Fa2Built();  // false: every constructor below throws kUnavailable
// Whether it was built and the current device can run it.
bool Fa2Supported();

// softmax(q k^T / sqrt(head_dim)) v over the paged cache. Per frame: Plan, Upload, then Run for
// every block.
class Fa2Paged {
 public:
  explicit Fa2Paged(const PagedLimits& limits);
  ~Fa2Paged();

  // Host only. Waits at most for the upload before the last one.
  void Plan(const PagedStep& step);
  // Copies the plan to the device, in stream order and not inside a graph capture.
  void Upload(CudaStream stream);
  // Launches with what was planned last; may be captured.
  void Run(const PagedCall& call, CudaStream stream) const;
  // Of the last plan; 0 before it. Graphs captured under an equal value stay valid: replay them
  // after Plan and Upload.
  uint64_t signature() const;

  // What an object takes, for the memory plan.
  static uint64_t DeviceMemory(const PagedLimits& limits, int multiprocessors);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// In-frame attention of one fixed shape; its work list is uploaded once, by the constructor.
class Fa2Frames {
 public:
  explicit Fa2Frames(const FrameShape& shape);
  ~Fa2Frames();
  void Run(const FrameCall& call, CudaStream stream) const;  // may be captured

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_FA2_H_
