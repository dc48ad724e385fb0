#ifndef LINGBOT_OPS_GPU_MEMORY_H_
#define LINGBOT_OPS_GPU_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"

namespace lingbot::ops {

// The cache's own work on a GPU, in order with the operators of the context, which must be on one.
// The noexcept ones report their failures at the next Synchronize.

void FillGpuBytes(Context& context, void* target, int value, size_t bytes) noexcept;

// In every plane the row_bytes bytes at to[i] take what those at from[i] held; offsets count bytes,
// from ascends and to[i] != from[j] for j < i.
void MoveGpuRows(Context& context, std::span<std::byte* const> planes, size_t row_bytes,
                 std::span<const int64_t> from, std::span<const int64_t> to) noexcept;

// Writes k, v [frames, heads, head_dim] float32 (channels contiguous) as entries *first and
// following of k_entries and v_entries, whose entries [heads, head_dim] lie `stride` floats apart.
void StoreGpuEntries(Context& context, const TensorView& k, const TensorView& v, float* k_entries,
                     float* v_entries, int64_t stride, const int32_t* first);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_GPU_MEMORY_H_
