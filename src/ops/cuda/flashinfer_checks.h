#ifndef LINGBOT_OPS_CUDA_FLASHINFER_CHECKS_H_
#define LINGBOT_OPS_CUDA_FLASHINFER_CHECKS_H_

#include "ops/cuda/attention_paged.h"

namespace lingbot::ops::cuda {

// What FlashInfer's kernels silently take for granted: head sizes that are compiled, addresses and
// strides in steps of 16 bytes, row offsets that fit into 32 bits. All throw kInternal.
void CheckPagedLimits(const PagedLimits& limits);
void CheckPagedCall(const PagedCall& call, const PagedLimits& limits, const PagedStep& step);
void CheckFlashInferFrames(const FrameShape& shape);
void CheckFrameCall(const FrameCall& call, const FrameShape& shape);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_FLASHINFER_CHECKS_H_
