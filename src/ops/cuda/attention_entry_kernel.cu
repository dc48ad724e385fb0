#include "ops/cuda/attention_entry_kernel.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kMaxChannels = 256;
constexpr int kMinShare = 8;  // entries that are worth a part of their own

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

__device__ float* PartOf(const Problem& problem, int head, int split, int row) {
  const int64_t index =
      (static_cast<int64_t>(head) * problem.splits + split) * problem.shape.rows + row;
  return problem.parts + index * (problem.shape.head_dim + 4);
}

// What the warps of a block put together, one row at a time.
struct Exchange {
  float maximum[kWarps];
  float sum[kWarps];
  float values[kWarps][kMaxChannels];
};

// Joins the warps' results for one row into the block's part. All threads take part.
template <int kQuads>
__device__ void WritePart(Exchange& exchange, float maximum, float sum,
                          const float4 (&values)[kQuads], int dim, float* part) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    *reinterpret_cast<float4*>(&exchange.values[warp][i * 128 + lane * 4]) = values[i];
  }
  if (lane == 0) {
    exchange.maximum[warp] = maximum;
    exchange.sum[warp] = sum;
  }
  __syncthreads();
  float greatest = exchange.maximum[0];
  for (int w = 1; w < kWarps; ++w) {
    greatest = fmaxf(greatest, exchange.maximum[w]);
  }
  float weights[kWarps];
  float total = 0.0f;
  for (int w = 0; w < kWarps; ++w) {
    weights[w] = greatest == -INFINITY ? 0.0f : exp2f(exchange.maximum[w] - greatest);
    total += weights[w] * exchange.sum[w];
  }
  for (int channel = threadIdx.x; channel < dim; channel += kThreads) {
    float value = 0.0f;
    for (int w = 0; w < kWarps; ++w) {
      value += weights[w] * exchange.values[w][channel];
    }
    part[4 + channel] = value;
  }
  if (threadIdx.x == 0) {
    part[0] = greatest;
    part[1] = total;
  }
  __syncthreads();
}

// A block's share of the entries; a warp takes every kWarps-th group of kUnroll. A lane holds four
// channels of each 128; kQuads of them.
template <int kRows, int kQuads, int kUnroll>
__device__ void AttendShare(const Problem& problem, Exchange& exchange, const float* queries,
                            int head, int begin, int end) {
  const int lane = threadIdx.x % 32;
  const int dim = problem.shape.head_dim;
  const int64_t stride = problem.call.entry_stride;
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
          dot += Dot(k[u][i],
                     *reinterpret_cast<const float4*>(queries + (r * kQuads + i) * 128 + lane * 4));
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
      WritePart<kQuads>(exchange, maximum[r], sum[r], values[r], dim,
                        PartOf(problem, head, blockIdx.x, r));
    }
  }
}

// The first `parts` parts of one head, in their order, whichever block came last.
__device__ void MergeHead(const Problem& problem, Exchange& exchange, int head, int parts) {
  const int dim = problem.shape.head_dim;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  for (int row = 0; row < problem.shape.rows; ++row) {
    // Lane p holds the maximum and the sum of part p; at most 32 parts.
    const float* mine = PartOf(problem, head, min(lane, parts - 1), row);
    const float maximum = lane < parts ? __ldcg(mine) : -INFINITY;
    const float sum = lane < parts ? __ldcg(mine + 1) : 0.0f;
    float greatest = maximum;
    for (int step = 16; step > 0; step /= 2) {
      greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, step));
    }
    const float weight = maximum == -INFINITY ? 0.0f : exp2f(maximum - greatest);
    const float total = SumWarp(weight * sum);
    for (int first = lane * 4; first < kMaxChannels; first += 128) {
      float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < kEntryMaxSplits / kWarps; ++i) {
        const int part = i * kWarps + warp;
        const float factor = __shfl_sync(~0u, weight, part);
        if (part < parts && first < dim) {
          AddScaled(value, factor,
                    __ldcg(reinterpret_cast<const float4*>(PartOf(problem, head, part, row) + 4 +
                                                           first)));
        }
      }
      *reinterpret_cast<float4*>(&exchange.values[warp][first]) = value;
    }
    __syncthreads();
    for (int channel = threadIdx.x; channel < dim; channel += kThreads) {
      float value = 0.0f;
      for (int w = 0; w < kWarps; ++w) {
        value += exchange.values[w][channel];
      }
      problem.call.out[(static_cast<int64_t>(row) * problem.shape.heads + head) * dim + channel] =
          total > 0.0f ? value / total : 0.0f;
    }
    __syncthreads();
  }
}

// Grid: splits x heads. The last block of a head to finish merges the head's parts.
template <int kRows, int kQuads, int kUnroll>
__global__ void __launch_bounds__(kThreads) EntryKernel(const Problem problem) {
  __shared__ __align__(16) float queries[kRows * kQuads * 128];
  __shared__ __align__(16) Exchange exchange;
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
  const int count = min(*problem.call.count, problem.shape.capacity);
  const int share = max((count + problem.splits - 1) / problem.splits, kMinShare);
  const int begin = min(static_cast<int>(blockIdx.x) * share, count);
  AttendShare<kRows, kQuads, kUnroll>(problem, exchange, queries, head, begin,
                                      min(begin + share, count));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(problem.counters + head, 1) == problem.splits - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    MergeHead(problem, exchange, head, max(1, (count + share - 1) / share));
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
