#include "ops/gpu_memory.h"

#include "ops/cuda/backend.h"

namespace lingbot::ops {

void FillGpuBytes(Context& context, void* target, int value, size_t bytes) noexcept {
  cuda::FillBytes(context, target, value, bytes);
}

void MoveGpuRows(Context& context, std::span<std::byte* const> planes, size_t row_bytes,
                 std::span<const int64_t> from, std::span<const int64_t> to) noexcept {
  cuda::MoveRows(context, planes, row_bytes, from, to);
}

void StoreGpuEntries(Context& context, const TensorView& k, const TensorView& v, float* k_entries,
                     float* v_entries, int64_t stride, const int32_t* first) {
  cuda::StoreEntries(context, k, v, k_entries, v_entries, stride, first);
}

}  // namespace lingbot::ops
