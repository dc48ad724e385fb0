#include "bench/cuda/attention_dense_check.h"

#include <algorithm>

#include "ops/cuda/check.h"

namespace lingbot::ops::cuda::dense {
namespace {

__device__ uint32_t Hash(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return static_cast<uint32_t>(x);
}
__device__ float Uniform(uint64_t x) { return (Hash(x) + 0.5f) * 0x1p-32f; }

__global__ void FillRowsKernel(Bf16* data, int64_t rows, int columns, int64_t stride, uint64_t seed,
                               float amplitude, Fill fill) {
  const int64_t count = rows * columns;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = i / columns;
    const uint64_t row_key = seed + 0x9e3779b97f4a7c15ull * (row + 1);
    float value = 1.0f;
    switch (fill) {
      case Fill::kNormal:
        value =
            sqrtf(-2.0f * logf(Uniform(2 * i + seed))) * cospif(2.0f * Uniform(2 * i + 1 + seed));
        break;
      case Fill::kRays:
        value = 2.0f * Uniform(row_key) - 1.0f;
        break;
      case Fill::kNegative:
        value = -1.0f + 0.1f * Uniform(row_key);
        break;
      case Fill::kGrowing:
        value = static_cast<float>(row + 1) / rows;
        break;
      case Fill::kEqual:
        break;
    }
    data[row * stride + i % columns] = __float2bfloat16(amplitude * value);
  }
}

__global__ void PoisonKernel(uint16_t* data, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    data[i] = 0x7fc1;
  }
}

constexpr int kReferenceThreads = 256;

// Grid (samples, heads, batches). `scores` [blocks, kv].
__global__ void ReferenceKernel(Problem problem, const int* tokens, float* scores, float* out) {
  __shared__ float shared[kReferenceThreads];
  __shared__ double sums[kReferenceThreads];
  const int head_dim = problem.shape.head_dim;
  const int64_t kv = problem.extents[0].rows + problem.extents[1].rows;
  const int64_t block = (blockIdx.z * gridDim.y + blockIdx.y) * int64_t{gridDim.x} + blockIdx.x;
  const Bf16* q = problem.q + blockIdx.z * problem.q_batch_stride +
                  tokens[blockIdx.x] * problem.q_token_stride + blockIdx.y * head_dim;
  auto row_of = [&](int64_t row, bool value) {
    const DenseRows& extent =
        row < problem.extents[0].rows ? problem.extents[0] : problem.extents[1];
    const int64_t at = row < problem.extents[0].rows ? row : row - problem.extents[0].rows;
    return static_cast<const Bf16*>(value ? extent.v : extent.k) +
           blockIdx.z * problem.batch_stride + at * problem.row_stride + blockIdx.y * head_dim;
  };
  float* mine = scores + block * kv;
  float max = -INFINITY;
  for (int64_t row = threadIdx.x; row < kv; row += kReferenceThreads) {
    const Bf16* k = row_of(row, false);
    float dot = 0.0f;
    for (int d = 0; d < head_dim; ++d) dot += __bfloat162float(q[d]) * __bfloat162float(k[d]);
    mine[row] = dot * problem.scale;
    max = fmaxf(max, mine[row]);
  }
  shared[threadIdx.x] = max;
  __syncthreads();
  for (int i = 0; i < kReferenceThreads; ++i) max = fmaxf(max, shared[i]);
  double sum = 0.0;
  for (int64_t row = threadIdx.x; row < kv; row += kReferenceThreads) {
    mine[row] = expf(mine[row] - max);
    sum += mine[row];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0.0;
  for (int i = 0; i < kReferenceThreads; ++i) sum += sums[i];
  __syncthreads();
  const int groups = kReferenceThreads / head_dim;
  const int d = threadIdx.x % head_dim;
  double value = 0.0;
  for (int64_t row = threadIdx.x / head_dim; row < kv; row += groups) {
    value += static_cast<double>(mine[row]) * __bfloat162float(row_of(row, true)[d]);
  }
  sums[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < head_dim) {
    for (int g = 1; g < groups; ++g) value += sums[g * head_dim + d];
    out[block * head_dim + d] = static_cast<float>(value / sum);
  }
}

}  // namespace

DeviceBuffer::DeviceBuffer(size_t bytes) : bytes_(bytes) {
  CheckCuda(cudaMalloc(&data_, std::max<size_t>(bytes, 1)), "cudaMalloc");
}

DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

void Copy(void* to, const void* from, size_t bytes) {
  CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

void Poison(void* data, size_t bytes) {
  if (bytes == 0) return;
  PoisonKernel<<<1024, 256>>>(static_cast<uint16_t*>(data), bytes / 2);
  CheckLaunch("poison");
}

void FillRows(Bf16* data, int64_t rows, int columns, int64_t stride, uint64_t seed, float amplitude,
              Fill fill) {
  if (rows == 0) return;
  FillRowsKernel<<<2048, 256>>>(data, rows, columns, stride, seed * 0x2545f4914f6cdd1dull,
                                amplitude, fill);
  CheckLaunch("fill");
}

DenseInput InputOf(const Problem& problem) {
  DenseInput input;
  input.q = problem.q;
  input.q_token_stride = problem.q_token_stride;
  input.q_batch_stride = problem.q_batch_stride;
  input.scale = problem.scale;
  input.score_bound = problem.score_bound;
  return input;
}

std::vector<float> Reference(const Problem& problem, const std::vector<int>& tokens) {
  const DenseShape& shape = problem.shape;
  const int64_t kv = problem.extents[0].rows + problem.extents[1].rows;
  const int64_t blocks = int64_t(tokens.size()) * shape.heads * shape.batches;
  const DeviceBuffer device_tokens(tokens.size() * sizeof(int));
  const DeviceBuffer scores(blocks * kv * sizeof(float));
  const DeviceBuffer out(blocks * shape.head_dim * sizeof(float));
  Copy(device_tokens.Get<int>(), tokens.data(), device_tokens.bytes());
  ReferenceKernel<<<dim3(tokens.size(), shape.heads, shape.batches), kReferenceThreads>>>(
      problem, device_tokens.Get<int>(), scores.Get<float>(), out.Get<float>());
  CheckLaunch("reference");
  std::vector<float> result(blocks * shape.head_dim);
  Copy(result.data(), out.Get<float>(), out.bytes());
  return result;
}

const std::vector<Variant>& Variants() {
  static const std::vector<Variant> variants = {
      {"running max 64", 64, kKvTile64, Exponent::kRunningMax, LaunchRunningMax64},
      {"scaled 64", 64, kKvTile64, Exponent::kScaled, LaunchScaled64},
      {"unit 64", 64, kKvTile64, Exponent::kUnit, LaunchUnit64},
      {"running max 128", 128, kKvTile128, Exponent::kRunningMax, LaunchRunningMax128},
      {"scaled 128", 128, kKvTile128, Exponent::kScaled, LaunchScaled128},
      {"unit 128", 128, kKvTile128, Exponent::kUnit, LaunchUnit128},
  };
  return variants;
}

int Multiprocessors() {
  int count = 0;
  CheckCuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0),
            "cudaDeviceGetAttribute");
  return count;
}

// The plan for a variant with this many splits, whatever the planner would choose.
DensePlan ForcedPlan(const DenseShape& shape, const Variant& variant, int splits) {
  DensePlan plan = PlanDense(shape, Multiprocessors());
  plan.kv_tile = variant.kv_tile;
  SetSplits(splits, Multiprocessors(), &plan);
  return plan;
}

}  // namespace lingbot::ops::cuda::dense
