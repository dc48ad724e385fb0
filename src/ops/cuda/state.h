#ifndef LINGBOT_OPS_CUDA_STATE_H_
#define LINGBOT_OPS_CUDA_STATE_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ops/cuda/attention_state.h"
#include "ops/cuda/conv.h"
#include "ops/cuda/linear.h"
#include "ops/setup.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

// A session's stream, libraries and recorded steps on one GPU.
class CudaState {
 public:
  explicit CudaState(const Setup& setup);
  ~CudaState();
  CudaState(const CudaState&) = delete;
  CudaState& operator=(const CudaState&) = delete;

  // A point between launches after which they belong to `stage`.
  struct Mark {
    cudaEvent_t event = nullptr;
    int stage = -1;
  };
  // A step recorded as a graph, with the marks inside it.
  struct Recording {
    int runs = 0;
    cudaGraphExec_t graph = nullptr;
    std::vector<Mark> marks;
  };

  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_; }
  cuda::LinearPlans& linears() { return linears_; }
  cuda::ConvPlans& convolutions() { return convolutions_; }
  cuda::AttentionState& attention() { return attention_; }

  bool Run(uint64_t key, bool replay, const std::function<void()>& body);
  void AddMark(int stage);
  // Events at the beginning and at the end of everything that a step launches.
  const std::array<cudaEvent_t, 2>& ends();
  // Those of the last step.
  std::span<const Mark> marks() const {
    return {last_marks_->data(), last_marks_ == &eager_marks_ ? used_marks_ : last_marks_->size()};
  }

  // Memory of the libraries: one buffer serves them all, their work follows each other.
  static constexpr size_t kWorkspaceBytes =
      cuda::LinearPlans::kWorkspaceBytes > cuda::ConvPlans::kWorkspaceBytes
          ? cuda::LinearPlans::kWorkspaceBytes
          : cuda::ConvPlans::kWorkspaceBytes;

 private:
  void Record(Recording& recording, const std::function<void()>& body);
  void Forget(Recording& recording);
  void DropUnrecorded();

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  Buffer workspace_;
  cuda::LinearPlans linears_;
  cuda::ConvPlans convolutions_;
  cuda::AttentionState attention_;
  std::map<uint64_t, Recording> recordings_;
  std::vector<Mark> eager_marks_;
  std::vector<Mark>* recording_marks_ = nullptr;  // while a step is being recorded
  size_t used_marks_ = 0;                         // of eager_marks_ in this step
  const std::vector<Mark>* last_marks_ = &eager_marks_;
  std::array<cudaEvent_t, 2> ends_{};
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CUDA_STATE_H_
