#ifndef LINGBOT_OPS_CUDA_ATTENTION_SDPA_H_
#define LINGBOT_OPS_CUDA_ATTENTION_SDPA_H_

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "ops/cuda/attention_paged.h"

struct cublasContext;

namespace lingbot::ops::cuda {

// The fallback: scores by cuBLAS, a softmax kernel, the weighted sum by cuBLAS; chunk by chunk of
// queries and slice by slice of 16,384 keys, so that scores and gathered rows stay bounded. Any
// device, heads of any multiple of 8 channels up to 256. kF32: float32 throughout, without tf32.
// kBF16: bfloat16 in and out, float32 accumulation and softmax, probabilities as the sum
// of two bfloat16 numbers. Launches depend on the lengths, so
// a captured graph serves one length only.
//
// `handle` must already be bound to `stream`, and to a workspace of its own if it is captured.
// `workspace`: device memory, aligned to 256 bytes, at least as large as the functions below say.

struct SdpaType {
  DType dtype = DType::kBF16;
  int heads = 0;
  int head_dim = 0;
};

// Bytes for a step of this size and for every smaller one.
size_t SdpaPagedWorkspace(const SdpaType& type, int q_tokens, int64_t kv_tokens);
size_t SdpaFramesWorkspace(const SdpaType& type, int tokens);

// softmax(q k^T / sqrt(head_dim)) v over the paged cache, whose visible rows are gathered, a slice
// at a time.
void SdpaPaged(cublasContext* handle, const SdpaType& type, const PagedStep& step,
               const PagedCall& call, void* workspace, size_t workspace_bytes, CudaStream stream);

// Every frame attends to itself; K and V are read where they are.
void SdpaFrames(cublasContext* handle, const SdpaType& type, int frames, int tokens,
                const FrameCall& call, void* workspace, size_t workspace_bytes, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_SDPA_H_
