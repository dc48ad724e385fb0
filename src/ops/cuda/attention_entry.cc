#include "ops/cuda/attention_entry.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/cuda/attention_entry_kernel.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kEntriesPerSplit = 32;
constexpr float kLog2E = 1.4426950408889634f;

void CheckShape(const EntryShape& shape) {
  Check(shape.rows >= 1 && shape.rows <= kEntryMaxRows && shape.heads >= 1 &&
            shape.heads <= 65535 && shape.head_dim >= 4 && shape.head_dim <= 256 &&
            shape.head_dim % 4 == 0 && shape.capacity >= 1,
        ErrorCode::kInternal,
        "entry attention: {} rows, {} heads of {} channels, {} entries; 1 to 16 rows and heads of "
        "a multiple of 4 up to 256 channels are possible",
        shape.rows, shape.heads, shape.head_dim, shape.capacity);
}

int SplitsFor(int capacity) {
  return static_cast<int>(std::clamp<int64_t>(
      (int64_t{capacity} + kEntriesPerSplit - 1) / kEntriesPerSplit, 1, kEntryMaxSplits));
}

size_t CounterBytes(int heads) {
  return (static_cast<size_t>(heads) * sizeof(int32_t) + 255) / 256 * 256;
}

}  // namespace

size_t EntryWorkspace(const EntryShape& shape) {
  CheckShape(shape);
  const size_t parts = static_cast<size_t>(shape.heads) * SplitsFor(shape.capacity);
  return CounterBytes(shape.heads) +
         parts * shape.rows * (static_cast<size_t>(shape.head_dim) + 4) * sizeof(float);
}

void ClearEntryWorkspace(const EntryShape& shape, void* workspace, CudaStream stream) {
  CheckCuda(cudaMemsetAsync(workspace, 0, CounterBytes(shape.heads), stream), "cudaMemsetAsync");
}

void EntryAttention(const EntryShape& shape, const EntryCall& call, void* workspace,
                    CudaStream stream) {
  CheckShape(shape);
  EntryProblem problem;
  problem.shape = shape;
  problem.call = call;
  problem.scale_log2 = kLog2E / std::sqrt(static_cast<float>(shape.head_dim));
  problem.splits = SplitsFor(shape.capacity);
  problem.counters = static_cast<int32_t*>(workspace);
  problem.parts =
      reinterpret_cast<float*>(static_cast<char*>(workspace) + CounterBytes(shape.heads));
  LaunchEntry(problem, stream);
}

}  // namespace lingbot::ops::cuda
