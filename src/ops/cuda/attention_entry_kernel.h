#ifndef LINGBOT_OPS_CUDA_ATTENTION_ENTRY_KERNEL_H_
#define LINGBOT_OPS_CUDA_ATTENTION_ENTRY_KERNEL_H_

#include <cstdint>

#include "ops/cuda/attention_entry.h"

namespace lingbot::ops::cuda {

inline constexpr int kEntryMaxRows = 16;
inline constexpr int kEntryMaxSplits = 32;

struct EntryProblem {
  EntryShape shape;
  EntryCall call;
  float scale_log2 = 0;         // log2(e) / sqrt(head_dim)
  int splits = 0;               // blocks a head
  int32_t* counters = nullptr;  // [heads], zero between launches
  // [heads, splits, rows]: maximum, sum, two unused, then head_dim values
  float* parts = nullptr;
};

void LaunchEntry(const EntryProblem& problem, CudaStream stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_ENTRY_KERNEL_H_
