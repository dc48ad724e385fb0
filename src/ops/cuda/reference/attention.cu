#include "ops/cuda/reference/attention.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>

#include "ops/cuda/check.h"
#include "ops/cuda/device_bytes.h"

namespace lingbot::ops::cuda::reference {
namespace {

constexpr int kThreads = 256;

template <typename Element>
struct View {  // a Problem with typed pointers
  const Element* q;
  const Element* k;
  const Element* v;
  int64_t q_stride, page_stride, token_stride;
  const int32_t* pages;
  int page_size, heads, dim;
  int64_t kv_tokens;

  __device__ int64_t Offset(int64_t token) const {
    return pages[token / page_size] * page_stride + (token % page_size) * token_stride;
  }
};

template <typename Element>
View<Element> MakeView(const Problem& p) {
  return {static_cast<const Element*>(p.q),
          static_cast<const Element*>(p.kv.k),
          static_cast<const Element*>(p.kv.v),
          p.q_token_stride,
          p.kv.page_stride,
          p.kv.token_stride,
          p.kv.pages,
          p.page_size,
          p.heads,
          p.head_dim,
          p.kv_tokens};
}

__device__ uint32_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<uint32_t>((x ^ (x >> 31)) >> 32);
}

__device__ float Normal(uint64_t index, uint64_t seed) {
  const uint64_t key = index * 2 + seed * 0x9E3779B97F4A7C15u;
  const float u = (static_cast<float>(Mix(key)) + 1.0f) * 0x1p-32f;
  const float angle = static_cast<float>(Mix(key + 1)) * 0x1p-31f;
  return sqrtf(-2.0f * logf(fminf(u, 1.0f))) * cospif(angle);
}

__device__ void Assign(float& target, float value) { target = value; }
__device__ void Assign(__nv_bfloat16& target, float value) { target = __float2bfloat16(value); }
__device__ float Read(float value) { return value; }
__device__ float Read(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename Element>
__global__ void NormalKernel(Element* data, int64_t count, uint64_t seed, float scale) {
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    Assign(data[i], scale * Normal(i, seed));
  }
}

// One block a row: blockIdx.y is 0 for q, 1 for K, 2 for V.
template <typename Element>
__global__ void FillKernel(View<Element> view, int64_t q_tokens, uint64_t seed, float q_scale) {
  const int64_t row = blockIdx.x;
  const int64_t elements = static_cast<int64_t>(view.heads) * view.dim;
  if (row >= (blockIdx.y == 0 ? q_tokens : view.kv_tokens)) {
    return;
  }
  const Element* source = blockIdx.y == 0   ? view.q + row * view.q_stride
                          : blockIdx.y == 1 ? view.k + view.Offset(row)
                                            : view.v + view.Offset(row);
  auto* target = const_cast<Element*>(source);
  for (int i = threadIdx.x; i < elements; i += kThreads) {
    Assign(target[i],
           (blockIdx.y == 0 ? q_scale : 1.0f) * Normal(row * elements + i, seed * 3 + blockIdx.y));
  }
}

__device__ double SumBlock(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
  return value;
}

__device__ float MaxBlock(float value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] = fmax(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  value = static_cast<float>(shared[0]);
  __syncthreads();
  return value;
}

// One block a (sampled row, head): scores to memory, then maximum, sum and weighted values.
template <typename Element>
__global__ void ReferenceKernel(View<Element> view, const int32_t* rows, float* scores,
                                float* result) {
  __shared__ double shared[kThreads];
  const int head = blockIdx.y;
  const int dim = view.dim;
  float* score = scores + (blockIdx.x * int64_t{gridDim.y} + head) * view.kv_tokens;
  const Element* q = view.q + rows[blockIdx.x] * view.q_stride + head * dim;
  const float scale = 1.0f / sqrtf(static_cast<float>(dim));
  float greatest = -INFINITY;
  for (int64_t j = threadIdx.x; j < view.kv_tokens; j += kThreads) {
    const Element* k = view.k + view.Offset(j) + head * dim;
    float dot = 0.0f;
    for (int d = 0; d < dim; ++d) dot += Read(q[d]) * Read(k[d]);
    score[j] = dot * scale;
    greatest = fmaxf(greatest, score[j]);
  }
  greatest = MaxBlock(greatest, shared);
  double sum = 0;
  for (int64_t j = threadIdx.x; j < view.kv_tokens; j += kThreads) {
    score[j] = expf(score[j] - greatest);
    sum += score[j];
  }
  sum = SumBlock(sum, shared);
  const int groups = kThreads / dim;  // dim is at most 256
  const int channel = threadIdx.x % dim;
  const int group = threadIdx.x / dim;
  double value = 0;
  for (int64_t j = group; j < view.kv_tokens && group < groups; j += groups) {
    value += static_cast<double>(score[j]) * Read(view.v[view.Offset(j) + head * dim + channel]);
  }
  shared[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < dim) {
    for (int g = 1; g < groups; ++g) value += shared[g * dim + channel];
    result[(blockIdx.x * int64_t{gridDim.y} + head) * dim + channel] =
        static_cast<float>(value / sum);
  }
}

template <typename Element>
__global__ void FiniteKernel(const Element* data, int64_t count, int* bad) {
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    if (!isfinite(Read(data[i]))) *bad = 1;
  }
}

__global__ void DifferKernel(const uint16_t* a, const uint16_t* b, int64_t count, int* differs) {
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    if (a[i] != b[i]) *differs = 1;
  }
}

void CheckLaunch() { CheckCuda(cudaGetLastError(), "reference kernel"); }

int ReadFlag(const DeviceBytes& flag, CudaStream stream) {
  int value = 0;
  CheckCuda(cudaMemcpyAsync(&value, flag.data(), sizeof(value), cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return value;
}

template <typename Element>
Errors JudgeTyped(const Problem& problem, const Element* out, const std::vector<int32_t>& rows,
                  CudaStream stream) {
  const int64_t row_elements = static_cast<int64_t>(problem.heads) * problem.head_dim;
  const size_t samples = rows.size();
  const DeviceBytes device_rows(samples * sizeof(int32_t));
  const DeviceBytes scores(samples * problem.heads * problem.kv_tokens * sizeof(float));
  const DeviceBytes device_result(samples * row_elements * sizeof(float));
  const DeviceBytes bad(sizeof(int));
  CheckCuda(cudaMemsetAsync(bad.data(), 0, sizeof(int), stream), "cudaMemsetAsync");
  CheckCuda(cudaMemcpyAsync(device_rows.data(), rows.data(), samples * sizeof(int32_t),
                            cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
  ReferenceKernel<<<dim3(samples, problem.heads), kThreads, 0, stream>>>(
      MakeView<Element>(problem), static_cast<const int32_t*>(device_rows.data()),
      static_cast<float*>(scores.data()), static_cast<float*>(device_result.data()));
  CheckLaunch();
  FiniteKernel<<<264, kThreads, 0, stream>>>(out, problem.q_tokens * row_elements,
                                             static_cast<int*>(bad.data()));
  CheckLaunch();
  std::vector<float> expected(samples * row_elements);
  std::vector<Element> actual(samples * row_elements);
  CheckCuda(cudaMemcpyAsync(expected.data(), device_result.data(), expected.size() * sizeof(float),
                            cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
  for (size_t i = 0; i < samples; ++i) {
    CheckCuda(cudaMemcpyAsync(&actual[i * row_elements], out + rows[i] * row_elements,
                              row_elements * sizeof(Element), cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync");
  }
  Errors errors;
  errors.finite = ReadFlag(bad, stream) == 0;
  double difference = 0;
  double norm = 0;
  for (size_t part = 0; part < samples * problem.heads; ++part) {
    double largest = 0;
    double worst = 0;
    for (int d = 0; d < problem.head_dim; ++d) {
      const double want = expected[part * problem.head_dim + d];
      const double have = static_cast<float>(actual[part * problem.head_dim + d]);
      largest = std::max(largest, std::abs(want));
      worst = std::max(worst, std::abs(have - want));
      difference += (have - want) * (have - want);
      norm += want * want;
    }
    if (!(worst / largest <= errors.worst)) {
      errors.worst = worst / largest;
      errors.worst_row = rows[part / problem.heads];
      errors.worst_head = static_cast<int>(part % problem.heads);
    }
  }
  errors.relative_l2 = std::sqrt(difference / norm);
  return errors;
}

}  // namespace

void Poison(void* data, size_t bytes, CudaStream stream) {
  CheckCuda(cudaMemsetAsync(data, 0xFF, bytes, stream), "cudaMemsetAsync");
}

void FillNormal(int element_bytes, void* data, int64_t count, uint64_t seed, float scale,
                CudaStream stream) {
  if (element_bytes == 4) {
    NormalKernel<<<1056, kThreads, 0, stream>>>(static_cast<float*>(data), count, seed, scale);
  } else {
    NormalKernel<<<1056, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count, seed,
                                                scale);
  }
  CheckLaunch();
}

void FillProblem(const Problem& problem, uint64_t seed, float q_scale, CudaStream stream) {
  const auto rows = static_cast<unsigned>(std::max<int64_t>(problem.q_tokens, problem.kv_tokens));
  if (problem.element_bytes == 4) {
    FillKernel<<<dim3(rows, 3), kThreads, 0, stream>>>(MakeView<float>(problem), problem.q_tokens,
                                                       seed, q_scale);
  } else {
    FillKernel<<<dim3(rows, 3), kThreads, 0, stream>>>(MakeView<__nv_bfloat16>(problem),
                                                       problem.q_tokens, seed, q_scale);
  }
  CheckLaunch();
}

Errors Judge(const Problem& problem, const void* out, const std::vector<int32_t>& rows,
             CudaStream stream) {
  return problem.element_bytes == 4
             ? JudgeTyped(problem, static_cast<const float*>(out), rows, stream)
             : JudgeTyped(problem, static_cast<const __nv_bfloat16*>(out), rows, stream);
}

bool SameBytes(const void* a, const void* b, size_t bytes, CudaStream stream) {
  const DeviceBytes differs(sizeof(int));
  CheckCuda(cudaMemsetAsync(differs.data(), 0, sizeof(int), stream), "cudaMemsetAsync");
  DifferKernel<<<264, kThreads, 0, stream>>>(static_cast<const uint16_t*>(a),
                                             static_cast<const uint16_t*>(b), bytes / 2,
                                             static_cast<int*>(differs.data()));
  CheckLaunch();
  return ReadFlag(differs, stream) == 0;
}

}  // namespace lingbot::ops::cuda::reference
