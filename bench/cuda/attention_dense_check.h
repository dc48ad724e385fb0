#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_CHECK_H_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_CHECK_H_

// What the parts of attention_dense_check share.

#include <cuda_bf16.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/cuda/attention_dense_internal.h"

namespace lingbot::ops::cuda::dense {

using Bf16 = __nv_bfloat16;

inline constexpr float kLog2E = 1.44269504f;

class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <class T = Bf16>
  T* Get() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

void Copy(void* to, const void* from, size_t bytes);

// NaN in every bf16 (and float32) of the range.
void Poison(void* data, size_t bytes);

enum class Fill {
  kNormal,
  kRays,      // every row a multiple in [-1, 1] of one vector: scores reach the bound, both ways
  kNegative,  // the same with multiples in [-1, -0.9]: every score far below zero
  kGrowing,   // multiples that grow with the row: the maximum comes last
  kEqual,     // one vector: every score the same
};

// Rows [rows, columns] at `stride` elements.
void FillRows(Bf16* data, int64_t rows, int columns, int64_t stride, uint64_t seed, float amplitude,
              Fill fill = Fill::kNormal);

// One attention with everything that RunDense and the reference need.
struct Problem {
  DenseShape shape;
  int64_t q_token_stride;
  int64_t q_batch_stride;
  int64_t row_stride;
  int64_t batch_stride;
  DenseRows extents[2];
  const Bf16* q;
  float scale;
  float score_bound;
};

DenseInput InputOf(const Problem& problem);

// softmax(scale * q K^T) V of these tokens: [batches, heads, tokens, head_dim]. Plain float32
// products, sums in double.
std::vector<float> Reference(const Problem& problem, const std::vector<int>& tokens);

// A kernel to check and time.
struct Variant {
  std::string name;
  int head_dim;
  int kv_tile;
  Exponent exponent;
  LaunchFunction launch;
};

const std::vector<Variant>& Variants();

int Multiprocessors();

// The plan for a variant with this many splits, whatever the planner would choose.
DensePlan ForcedPlan(const DenseShape& shape, const Variant& variant, int splits);

// Checks everything; returns the number of failures.
int Sweep();

// Prints a table of times.
void Time();

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_CHECK_H_
