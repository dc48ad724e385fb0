#ifndef LINGBOT_OPS_KV_STORE_H_
#define LINGBOT_OPS_KV_STORE_H_

#include <cstdint>

#include "base/thread_team.h"
#include "tensor/tensor_view.h"

namespace lingbot::ops {

// Where the rows of a step go in one block of the KV cache: row r to the heads * head_dim elements
// at k + offsets[r] and v + offsets[r].
struct KvDestination {
  void* k = nullptr;
  void* v = nullptr;
  DType dtype = DType::kF32;  // kF32 or kBF16
  Device device = Device::kCpu;
  const int64_t* offsets = nullptr;  // [rows], in memory of `device`
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};

// Writes k, v [rows, heads, head_dim] float32 on the CPU (channels contiguous, other strides free),
// converting to bfloat16 by nearest, ties to even. Throws kInternal if shapes or types do not fit.
void StoreKv(const ThreadTeam& team, const TensorView& k, const TensorView& v,
             const KvDestination& destination);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_KV_STORE_H_
