#include "ops/cuda/flashinfer_checks.h"

#include <cstdint>
#include <initializer_list>

#include "base/check.h"
#include "ops/cuda/attention_plan.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kElementsPer16Bytes = 8;
constexpr int64_t kMax32 = 0xFFFFFFFF;

void CheckHeadDim(int heads, int head_dim) {
  Check(heads >= 1 && (head_dim == 64 || head_dim == 128), ErrorCode::kInternal,
        "FlashInfer attention is compiled for heads of 64 and 128 channels, not for {} of {}: "
        "choose sdpa",
        heads, head_dim);
}

void CheckAddresses(std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    Check(address != nullptr && reinterpret_cast<uintptr_t>(address) % 16 == 0,
          ErrorCode::kInternal, "FlashInfer attention: address {} is not a multiple of 16 bytes",
          address);
  }
}

// FA2 multiplies rows by their stride in 32 bits.
void CheckRows(int64_t rows, int64_t token_stride, int64_t row_elements) {
  Check(token_stride >= row_elements && token_stride % kElementsPer16Bytes == 0 &&
            token_stride <= kMax32 / 2 && rows <= kMax32 / token_stride,
        ErrorCode::kInternal, "FlashInfer attention: {} rows with a stride of {} elements", rows,
        token_stride);
}

}  // namespace

void CheckPagedLimits(const PagedLimits& limits) {
  CheckHeadDim(limits.heads, limits.head_dim);
  // Partial results of a row, of all its heads, are addressed in 32 bits too.
  const int64_t row = static_cast<int64_t>(limits.heads) * limits.head_dim;
  Check(limits.max_q_tokens >= 1 && limits.max_q_tokens <= kMax32 / 4 / row, ErrorCode::kInternal,
        "paged attention planned for {} query rows of {} elements", limits.max_q_tokens, row);
}

void CheckPagedCall(const PagedCall& call, const PagedLimits& limits, const PagedStep& step) {
  const int64_t row = static_cast<int64_t>(limits.heads) * limits.head_dim;
  CheckAddresses({call.q, call.out, call.kv.k, call.kv.v});
  CheckRows(step.q_tokens, call.q_token_stride, row);
  const PagedKv& kv = call.kv;
  Check(kv.pages != nullptr && kv.token_stride >= row && kv.token_stride <= kMax32 &&
            kv.page_stride >= row && kv.page_stride <= kMax32 &&
            kv.token_stride % kElementsPer16Bytes == 0 && kv.page_stride % kElementsPer16Bytes == 0,
        ErrorCode::kInternal,
        "FlashInfer attention: K and V with strides of {} and {} elements for rows of {}",
        kv.page_stride, kv.token_stride, row);
}

void CheckFlashInferFrames(const FrameShape& shape) {
  CheckFrames(shape);
  CheckHeadDim(shape.heads, shape.head_dim);
}

void CheckFrameCall(const FrameCall& call, const FrameShape& shape) {
  CheckAddresses({call.q, call.k, call.v, call.out});
  CheckRows(static_cast<int64_t>(shape.frames) * shape.tokens, call.token_stride,
            static_cast<int64_t>(shape.heads) * shape.head_dim);
}

}  // namespace lingbot::ops::cuda
