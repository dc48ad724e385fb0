#include <cuda_bf16.h>

#include "ops/cuda/attention_sdpa_kernels.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr float kLog2E = 1.4426950408889634f;

// One block a row; blockIdx.y selects K or V.
__global__ void __launch_bounds__(kThreads)
    GatherKernel(const char* __restrict__ k, const char* __restrict__ v,
                 const int32_t* __restrict__ pages, int page_size, int64_t begin,
                 int64_t page_bytes, int64_t token_bytes, int row_bytes, char* __restrict__ k_rows,
                 char* __restrict__ v_rows) {
  const int64_t row = blockIdx.x;
  const int64_t token = begin + row;
  const int64_t offset = pages[token / page_size] * page_bytes + (token % page_size) * token_bytes;
  const auto* source = reinterpret_cast<const uint4*>((blockIdx.y == 0 ? k : v) + offset);
  auto* target = reinterpret_cast<uint4*>((blockIdx.y == 0 ? k_rows : v_rows) + row * row_bytes);
  for (int i = threadIdx.x; i < row_bytes / 16; i += kThreads) {
    target[i] = source[i];
  }
}

// The maximum so far and the sum of exponentials relative to it.
struct RowState {
  float maximum = -INFINITY;
  float sum = 0.0f;
};

__device__ RowState Join(RowState a, RowState b) {
  const float maximum = fmaxf(a.maximum, b.maximum);
  if (maximum == -INFINITY) {
    return {};
  }
  return {maximum, a.sum * exp2f((a.maximum - maximum) * kLog2E) +
                       b.sum * exp2f((b.maximum - maximum) * kLog2E)};
}

__device__ RowState JoinBlock(RowState state) {
  __shared__ RowState warps[kWarps];
  for (int lane = 16; lane > 0; lane /= 2) {
    RowState other;
    other.maximum = __shfl_xor_sync(~0u, state.maximum, lane);
    other.sum = __shfl_xor_sync(~0u, state.sum, lane);
    state = Join(state, other);
  }
  if (threadIdx.x % 32 == 0) {
    warps[threadIdx.x / 32] = state;
  }
  __syncthreads();
  state = warps[0];
  for (int warp = 1; warp < kWarps; ++warp) {
    state = Join(state, warps[warp]);
  }
  return state;
}

__device__ float4 LoadQuad(const float* row, int64_t first, int64_t columns) {
  if (first + 4 <= columns) {
    return *reinterpret_cast<const float4*>(row + first);
  }
  float4 quad = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
  quad.x = row[first];
  if (first + 1 < columns) quad.y = row[first + 1];
  if (first + 2 < columns) quad.z = row[first + 2];
  return quad;
}

__device__ void StoreQuad(float* row, float* /*rest*/, int64_t first, float4 quad) {
  *reinterpret_cast<float4*>(row + first) = quad;
}

__device__ void StoreQuad(__nv_bfloat16* row, int64_t first, float4 quad) {
  auto* target = reinterpret_cast<__nv_bfloat162*>(row + first);
  target[0] = __floats2bfloat162_rn(quad.x, quad.y);
  target[1] = __floats2bfloat162_rn(quad.z, quad.w);
}

__device__ float Rounded(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }

__device__ void StoreQuad(__nv_bfloat16* row, __nv_bfloat16* rest, int64_t first, float4 quad) {
  StoreQuad(row, first, quad);
  StoreQuad(rest, first,
            make_float4(quad.x - Rounded(quad.x), quad.y - Rounded(quad.y),
                        quad.z - Rounded(quad.z), quad.w - Rounded(quad.w)));
}

// One block a row; `rests` for bfloat16 only. Columns up to the next multiple of four are written
// too (as zero): the stride leaves room for them. Not __restrict__: the float32 version works in
// place.
template <typename Output>
__global__ void __launch_bounds__(kThreads)
    SoftmaxKernel(const ScoreRows rows, Output* probabilities, Output* rests) {
  const int64_t columns = rows.columns;
  const float* row = rows.scores + blockIdx.x * rows.stride;
  Output* target = probabilities + blockIdx.x * rows.stride;
  Output* rest = rests + blockIdx.x * rows.stride;
  RowState state;
  for (int64_t first = threadIdx.x * 4; first < columns; first += kThreads * 4) {
    const float4 x = LoadQuad(row, first, columns);
    const float maximum = fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
    RowState quad{maximum, 0.0f};
    if (maximum != -INFINITY) {
      quad.sum = exp2f((x.x - maximum) * kLog2E) + exp2f((x.y - maximum) * kLog2E) +
                 exp2f((x.z - maximum) * kLog2E) + exp2f((x.w - maximum) * kLog2E);
    }
    state = Join(state, quad);
  }
  state = JoinBlock(state);
  if (rows.lse != nullptr && threadIdx.x == 0) {
    const int head = blockIdx.x / rows.tokens;
    const int64_t token = blockIdx.x % rows.tokens;
    rows.lse[token * rows.lse_token_stride + head] = state.maximum * kLog2E + log2f(state.sum);
  }
  const float scale = 1.0f / state.sum;
  for (int64_t first = threadIdx.x * 4; first < columns; first += kThreads * 4) {
    const float4 x = LoadQuad(row, first, columns);
    StoreQuad(target, rest, first,
              make_float4(exp2f((x.x - state.maximum) * kLog2E) * scale,
                          exp2f((x.y - state.maximum) * kLog2E) * scale,
                          exp2f((x.z - state.maximum) * kLog2E) * scale,
                          exp2f((x.w - state.maximum) * kLog2E) * scale));
  }
}

unsigned BlocksOf(const ScoreRows& rows) {
  return static_cast<unsigned>(rows.heads) * static_cast<unsigned>(rows.tokens);
}

}  // namespace

void GatherRows(const PagedKv& kv, int page_size, int64_t begin, int64_t tokens, int row_bytes,
                int element_bytes, void* k_rows, void* v_rows, CudaStream stream) {
  const dim3 blocks(static_cast<unsigned>(tokens), 2);
  GatherKernel<<<blocks, kThreads, 0, stream>>>(
      static_cast<const char*>(kv.k), static_cast<const char*>(kv.v), kv.pages, page_size, begin,
      kv.page_stride * element_bytes, kv.token_stride * element_bytes, row_bytes,
      static_cast<char*>(k_rows), static_cast<char*>(v_rows));
  CheckCuda(cudaGetLastError(), "attention gather kernel");
}

void SoftmaxRows(const ScoreRows& rows, float* probabilities, CudaStream stream) {
  SoftmaxKernel<float><<<BlocksOf(rows), kThreads, 0, stream>>>(rows, probabilities, nullptr);
  CheckCuda(cudaGetLastError(), "softmax kernel");
}

void SoftmaxRows(const ScoreRows& rows, void* probabilities, void* rests, CudaStream stream) {
  SoftmaxKernel<<<BlocksOf(rows), kThreads, 0, stream>>>(
      rows, static_cast<__nv_bfloat16*>(probabilities), static_cast<__nv_bfloat16*>(rests));
  CheckCuda(cudaGetLastError(), "softmax kernel");
}

}  // namespace lingbot::ops::cuda
