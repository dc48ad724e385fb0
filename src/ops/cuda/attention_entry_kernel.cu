#include "ops/cuda/attention_entry_kernel.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kWarps = kEntryWarps;
constexpr int kThreads = kWarps * 32;

using Problem = EntryProblem;

__device__ float4 LoadQuad(const float* row, int channel, int head_dim) {
  return channel < head_dim ? *reinterpret_cast<const float4*>(row + channel)
                            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

__device__ float Dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ float SumWarp(float value) {
  for (int lane = 16; lane > 0; lane /= 2) {
    value += __shfl_xor_sync(~0u, value, lane);
  }
  return value;
}

__device__ void AddScaled(float4& sum, float weight, float4 value) {
  sum.x += weight * value.x;
  sum.y += weight * value.y;
  sum.z += weight * value.z;
  sum.w += weight * value.w;
}

__device__ void Scale(float4& value, float factor) {
  value.x *= factor;
  value.y *= factor;
  value.z *= factor;
  value.w *= factor;
}

__device__ float* PartOf(const Problem& problem, int head, int part, int parts, int row) {
  const int64_t index =
      (static_cast<int64_t>(head) * parts + part) * problem.shape.rows + row;
  return problem.parts + index * (problem.shape.head_dim + 4);
}

// A warp's share of the entries: every kWarps-th group of kUnroll. A lane holds four channels of
// each 128; kQuads of them.
template <int kRows, int kQuads, int kUnroll>
__device__ void AttendWarp(const Problem& problem, const float* queries, int head, int begin,
                           int end, int part, int parts) {
  const int lane = threadIdx.x % 32;
  const int dim = problem.shape.head_dim;
  const int64_t stride = static_cast<int64_t>(problem.shape.heads) * dim;
  float maximum[kRows];
  float sum[kRows];
  float4 values[kRows][kQuads];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    maximum[r] = -INFINITY;
    sum[r] = 0.0f;
    for (int i = 0; i < kQuads; ++i) {
      values[r][i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
  const int warp = threadIdx.x / 32;
  for (int first = begin + warp * kUnroll; first < end; first += kWarps * kUnroll) {
    float4 k[kUnroll][kQuads];
    float4 v[kUnroll][kQuads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t entry = min(first + u, end - 1);
      const int64_t offset = entry * stride + static_cast<int64_t>(head) * dim;
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        k[u][i] = LoadQuad(problem.call.k + offset, i * 128 + lane * 4, dim);
        v[u][i] = LoadQuad(problem.call.v + offset, i * 128 + lane * 4, dim);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float score[kUnroll];
      float greatest = maximum[r];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        float dot = 0.0f;
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
          dot += Dot(k[u][i], *reinterpret_cast<const float4*>(
                                  queries + (r * kQuads + i) * 128 + lane * 4));
        }
        score[u] = first + u < end ? SumWarp(dot) : -INFINITY;
        greatest = fmaxf(greatest, score[u]);
      }
      const float shrink = exp2f(maximum[r] - greatest);
      maximum[r] = greatest;
      sum[r] *= shrink;
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        Scale(values[r][i], shrink);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const float weight = exp2f(score[u] - greatest);
        sum[r] += weight;
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
          AddScaled(values[r][i], weight, v[u][i]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r < problem.shape.rows) {
      float* target = PartOf(problem, head, part, parts, r);
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        if (i * 128 + lane * 4 < dim) {
          *reinterpret_cast<float4*>(target + 4 + i * 128 + lane * 4) = values[r][i];
        }
      }
      if (lane == 0) {
        target[0] = maximum[r];
        target[1] = sum[r];
      }
    }
  }
}

// Joins the parts of one head, in their order, whichever block came last.
__device__ void MergeHead(const Problem& problem, int head, int parts) {
  const int dim = problem.shape.head_dim;
  for (int i = threadIdx.x; i < problem.shape.rows * dim; i += kThreads) {
    const int row = i / dim;
    const int channel = i % dim;
    float greatest = -INFINITY;
    for (int part = 0; part < parts; ++part) {
      greatest = fmaxf(greatest, __ldcg(PartOf(problem, head, part, parts, row)));
    }
    float total = 0.0f;
    float value = 0.0f;
    for (int part = 0; part < parts && greatest != -INFINITY; ++part) {
      const float* source = PartOf(problem, head, part, parts, row);
      const float weight = exp2f(__ldcg(source) - greatest);
      total += weight * __ldcg(source + 1);
      value += weight * __ldcg(source + 4 + channel);
    }
    problem.call.out[(static_cast<int64_t>(row) * problem.shape.heads + head) * dim + channel] =
        total > 0.0f ? value / total : 0.0f;
  }
}

// Grid: splits x heads. The last block of a head to finish merges the head's parts.
template <int kRows, int kQuads, int kUnroll>
__global__ void __launch_bounds__(kThreads) EntryKernel(const Problem problem) {
  __shared__ float queries[kRows * kQuads * 128];
  __shared__ bool last;
  const int head = blockIdx.y;
  const int dim = problem.shape.head_dim;
  for (int i = threadIdx.x; i < kRows * kQuads * 128; i += kThreads) {
    const int row = i / (kQuads * 128);
    const int channel = i % (kQuads * 128);
    const bool inside = row < problem.shape.rows && channel < dim;
    queries[i] = inside ? problem.call.q[row * problem.call.q_row_stride +
                                         static_cast<int64_t>(head) * dim + channel] *
                              problem.scale_log2
                        : 0.0f;
  }
  __syncthreads();
  const int splits = gridDim.x;
  const int parts = splits * kWarps;
  const int count = min(*problem.call.count, problem.shape.capacity);
  const int share = (count + splits - 1) / splits;
  const int begin = min(static_cast<int>(blockIdx.x) * share, count);
  AttendWarp<kRows, kQuads, kUnroll>(problem, queries, head, begin, min(begin + share, count),
                                     blockIdx.x * kWarps + threadIdx.x / 32, parts);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(problem.counters + head, 1) == splits - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    MergeHead(problem, head, parts);
    if (threadIdx.x == 0) {
      problem.counters[head] = 0;  // for the next launch
    }
  }
}

template <int kRows, int kUnroll>
void Launch(const Problem& problem, CudaStream stream) {
  const dim3 grid(problem.splits, problem.shape.heads);
  if (problem.shape.head_dim <= 128) {
    EntryKernel<kRows, 1, kUnroll><<<grid, kThreads, 0, stream>>>(problem);
  } else {
    EntryKernel<kRows, 2, kUnroll><<<grid, kThreads, 0, stream>>>(problem);
  }
}

}  // namespace

void LaunchEntry(const EntryProblem& problem, CudaStream stream) {
  if (problem.shape.rows == 1) {
    Launch<1, 4>(problem, stream);
  } else if (problem.shape.rows <= 8) {
    Launch<8, 1>(problem, stream);
  } else {
    Launch<kEntryMaxRows, 1>(problem, stream);
  }
  CheckCuda(cudaGetLastError(), "entry attention kernel");
}

}  // namespace lingbot::ops::cuda
