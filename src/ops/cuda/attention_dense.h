#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_H_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace lingbot::ops::cuda {

// Attention over contiguous rows of K and V on Hopper GPUs: softmax(scale * Q K^T) V, bf16 in and
// out, float32 between. The visible rows lie in one or two extents, each a run of whole rows of a
// matrix; nothing outside an extent influences the result, be it NaN.

// Sizes that never change in a stream.
struct DenseShape {
  int batches = 1;   // independent problems of equal size (frames that attend to themselves)
  int q_tokens = 0;  // of each batch
  int heads = 0;
  int head_dim = 0;         // 64 or 128
  int64_t kv_capacity = 0;  // the most visible rows that any launch will see
};

// Up to two extents as the copy engine sees them. 128-byte aligned wherever it lies.
struct alignas(128) DenseExtents {
  CUtensorMap k[2];
  CUtensorMap v[2];
  int32_t rows[2];  // rows[0] >= 1
};

// How a shape is run; equal plans may share captured graphs, whatever the extents.
struct DensePlan {
  DenseShape shape;
  int kv_tile = 0;
  int ctas = 0;
  int splits = 1;              // shares of the visible rows; a second kernel merges them
  size_t workspace_bytes = 0;  // 0 unless splits > 1
};

// Rows of K and V: element (row, head, d) of batch b lies at
// base + b * batch_stride + row * row_stride + head * head_dim + d.
struct DenseRows {
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t rows = 0;
};

// The `scale` of queries that were multiplied by log2(e) / sqrt(head_dim) before they were rounded
// to bf16 (into a norm's gamma and beta, or a projection's weights and bias): 2^(q.k) needs no
// further multiplication, and a faster kernel runs.
inline constexpr float kDensePrescaled = 0.693147180559945f;  // ln 2

struct DenseInput {
  const void* q = nullptr;  // (token, head, d) at q + token * q_token_stride + head * head_dim + d
  int64_t q_token_stride = 0;  // elements, even
  int64_t q_batch_stride = 0;
  // Exactly one: in device memory, read when the kernel runs (128-byte aligned); or in host memory,
  // copied into the launch.
  const DenseExtents* device_extents = nullptr;
  const DenseExtents* host_extents = nullptr;
  float scale = 0.0f;  // positive; kDensePrescaled is fastest
  // Bound on |scale * log2(e) * q.k| over all pairs, +infinity if unknown.
  float score_bound = 0.0f;
};

// Whether this device, driver and build can run it.
bool DenseSupported(int device);

// Throws kUnavailable for a head_dim without kernel, kInvalidArgument for impossible sizes.
DensePlan PlanDense(const DenseShape& shape, int multiprocessors);

// Whether a launch keeps a running maximum. It can go without where neither a probability nor a sum
// of kv_capacity of them leaves float32's (and bf16's) range: exponents up to 120 of 127.
bool DenseNeedsRunningMax(float score_bound, int64_t kv_capacity);

// Writes the extents' maps. `second.rows` may be 0. Bases 16-byte aligned, strides multiples of 8
// elements. Costs a few hundred nanoseconds; `out` may lie in pinned memory.
void EncodeDenseExtents(const DensePlan& plan, int64_t row_stride, int64_t batch_stride,
                        const DenseRows& first, const DenseRows& second, DenseExtents* out);

// out [batches, q_tokens, heads, head_dim] bf16, contiguous. `workspace`: plan.workspace_bytes,
// 16-byte aligned; launches on one stream may share it. The same input gives the same bits.
void RunDense(const DensePlan& plan, const DenseInput& input, void* out, void* workspace,
              cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_H_
