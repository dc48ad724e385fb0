#ifndef LINGBOT_OPS_CUDA_ATTENTION_STATE_H_
#define LINGBOT_OPS_CUDA_ATTENTION_STATE_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "ops/attention.h"
#include "ops/cuda/attention_dense.h"
#include "ops/cuda/attention_entry.h"
#include "ops/cuda/attention_fa2.h"
#include "ops/cuda/attention_fa3.h"
#include "ops/cuda/attention_sdpa.h"

struct cublasContext;

namespace lingbot::ops::cuda {

// What the attention back ends keep for one session. The back end is the one given to Reserve; in
// contexts without a cache it is the one of the first call.
class AttentionState {
 public:
  AttentionState(cudaStream_t stream, void* workspace, size_t workspace_bytes);
  ~AttentionState();

  void Reserve(Context& context, AttentionBackend backend, const ops::PagedLimits& limits);
  uint64_t Plan(AttentionBackend backend, const ops::PagedStep& step);
  void Upload();  // of what Plan made, where it does not travel with the step's inputs

  void Paged(Context& context, AttentionBackend backend, const TensorView& q, const PagedKvView& kv,
             float score_bound, const TensorView& out);
  void Frames(Context& context, AttentionBackend backend, int64_t frames, const TensorView& q,
              const TensorView& k, const TensorView& v, float score_bound, bool prescaled,
              const TensorView& out);
  void Entries(Context& context, const TensorView& q, const EntryKv& kv, const TensorView& out);

  AttentionBackend last() const { return last_; }

 private:
  using FrameKey = std::array<int64_t, 4>;  // frames, tokens, heads, head_dim

  const DensePlan& DensePlanFor(const DenseShape& shape);
  void* DenseWorkspace(const DensePlan& plan);
  void DensePaged(const TensorView& q, const PagedKvView& kv, float score_bound,
                  const TensorView& out);
  void DenseFrames(int64_t frames, const TensorView& q, const TensorView& k, const TensorView& v,
                   float score_bound, bool prescaled, const TensorView& out);
  void EncodeExtents(const ops::PagedStep& step);
  cublasContext* Blas();

  cudaStream_t stream_;
  void* library_workspace_;
  size_t library_workspace_bytes_;
  AttentionBackend last_ = AttentionBackend::kAuto;

  ops::PagedStep step_;  // last planned
  int64_t kv_capacity_ = 0;
  std::unique_ptr<Fa2Paged> fa2_;
  std::unique_ptr<Fa3Paged> fa3_;
  bool plan_uploaded_ = true;
  std::map<FrameKey, std::unique_ptr<Fa2Frames>> fa2_frames_;
  std::map<FrameKey, std::unique_ptr<Fa3Frames>> fa3_frames_;

  std::map<std::array<int64_t, 5>, DensePlan> dense_plans_;
  Mirrored<DenseExtents> extents_;  // [blocks]
  Buffer dense_workspace_;

  cublasContext* blas_ = nullptr;
  std::map<std::array<int64_t, 4>, Buffer> entry_workspaces_;  // by shape
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_STATE_H_
