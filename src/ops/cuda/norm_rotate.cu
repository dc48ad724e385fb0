#include <type_traits>

#include "ops/cuda/check.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/norm_rotate.h"
#include "ops/cuda/pack.cuh"

namespace lingbot::ops::cuda {
namespace {

constexpr int kWidth = 8;  // channels a lane holds on the fast path
constexpr int kBlock = 256;

// One head of one token of q (part 0), k (1) or v (2).
struct Head {
  int64_t row;
  int part;
  int64_t head;

  // 32 bits are enough: the heads of all rows fit into memory, and their division is several times
  // as fast as that of 64 bits.
  __device__ Head(uint32_t index, uint32_t parts, uint32_t heads)
      : row(index / (parts * heads)),
        part(static_cast<int>(index / heads % parts)),
        head(index % heads) {}
  __device__ int64_t Source(int64_t heads, int64_t head_dim) const {
    return ((row * 3 + part) * heads + head) * head_dim;
  }
};

struct Arguments {
  int64_t rows, heads;
  HeadNorms norms;
  const float* cos;
  const float* sin;
  int64_t table_rows;
  void* k;
  void* v;
  const int64_t* offsets;
};

template <int kLanes>
__device__ float GroupSum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

template <int kLanes>
__device__ void Normalize(const float* gamma, const float* beta, float eps, int lane,
                          float (&values)[kWidth]) {
  constexpr float kInverse = 1.0f / (kLanes * kWidth);
  float sum = 0.0f;
#pragma unroll
  for (float value : values) sum += value;
  const float mean = GroupSum<kLanes>(sum) * kInverse;
  float squares = 0.0f;
#pragma unroll
  for (float& value : values) {
    value -= mean;
    squares += value * value;
  }
  const float scale = 1.0f / sqrtf(GroupSum<kLanes>(squares) * kInverse + eps);
  float g[kWidth], b[kWidth];
  Load(gamma + lane * kWidth, g);
  Load(beta + lane * kWidth, b);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) values[i] = values[i] * scale * g[i] + b[i];
}

// Both partners of an adjacent pair lie in one lane.
__device__ void RotateAdjacent(const float* cos, const float* sin, int lane,
                               float (&values)[kWidth]) {
  float c[kWidth / 2], s[kWidth / 2];
  Load(cos + lane * (kWidth / 2), c);
  Load(sin + lane * (kWidth / 2), s);
#pragma unroll
  for (int p = 0; p < kWidth / 2; ++p) {
    const float a = values[2 * p];
    const float b = values[2 * p + 1];
    values[2 * p] = a * c[p] - b * s[p];
    values[2 * p + 1] = b * c[p] + a * s[p];
  }
}

// The lanes of a head hold, in equal shares, the first and second partners of the first half, then
// those of the second half.
template <int kLanes>
__device__ void RotateHalves(const float* cos, const float* sin, int lane,
                             float (&values)[kWidth]) {
  constexpr int kShare = kLanes / 4;
  const int half = lane / (2 * kShare);
  const bool first = lane / kShare % 2 == 0;
  const int column = (half * kShare + lane % kShare) * kWidth;
  float c[kWidth], s[kWidth];
  Load(cos + column, c);
  Load(sin + column, s);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, values[i], kShare);
    values[i] = first ? values[i] * c[i] - other * s[i] : values[i] * c[i] + other * s[i];
  }
}

// Where results go, and which of q, k and v take part.
enum class Target {
  kInPlace,    // q and k
  kOtherType,  // q, k and v, in place
  kCache,      // q in place; k and v to the cache
};

constexpr int PartsOf(Target target) { return target == Target::kInPlace ? 2 : 3; }

// kLanes lanes a head of kLanes * kWidth channels.
template <typename T, typename Result, typename Cache, int kLanes, Target kTarget, Pairing kPairing>
__global__ void __launch_bounds__(kBlock) NormRotateKernel(Arguments arguments, T* qkv) {
  constexpr int kParts = PartsOf(kTarget);
  WaitForPrevious();
  constexpr int kHeadDim = kLanes * kWidth;
  const uint32_t count = static_cast<uint32_t>(arguments.rows * kParts * arguments.heads);
  const uint32_t index = blockIdx.x * (kBlock / kLanes) + threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  // Lanes past the end repeat the last head, so that whole warps reach the shuffles.
  const Head at(min(index, count - 1), kParts, static_cast<uint32_t>(arguments.heads));
  T* source = qkv + at.Source(arguments.heads, kHeadDim) + lane * kWidth;
  float values[kWidth];
  Load(source, values);
  if (kParts == 2 || __any_sync(0xFFFFFFFFu, at.part < 2)) {
    float turned[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) turned[i] = values[i];
    const bool q = at.part == 0;
    const HeadNorms& norms = arguments.norms;
    Normalize<kLanes>(q ? norms.q_gamma : norms.k_gamma, q ? norms.q_beta : norms.k_beta, norms.eps,
                      lane, turned);
    const int64_t row = at.row % arguments.table_rows * (kHeadDim / 2);
    if constexpr (kPairing == Pairing::kAdjacent) {
      RotateAdjacent(arguments.cos + row, arguments.sin + row, lane, turned);
    } else {
      RotateHalves<kLanes>(arguments.cos + row, arguments.sin + row, lane, turned);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      values[i] = at.part < 2 ? turned[i] * (q ? norms.q_scale : 1.0f) : values[i];
    }
  }
  if (index >= count) return;
  if (kTarget != Target::kCache || at.part == 0) {
    static_assert(sizeof(Result) == sizeof(T));
    Store(values, reinterpret_cast<Result*>(source));
  } else {
    Cache* plane = static_cast<Cache*>(at.part == 1 ? arguments.k : arguments.v);
    Store(values, plane + arguments.offsets[at.row] + at.head * kHeadDim + lane * kWidth);
  }
}

// Any even head_dim: one warp a head, channels in shared memory.
template <typename T, typename Result, typename Cache, Target kTarget>
__global__ void __launch_bounds__(32)
    NormRotateAnyKernel(Arguments arguments, Pairing pairing, int64_t head_dim, T* qkv) {
  WaitForPrevious();
  extern __shared__ float values[];
  const Head at(blockIdx.x, PartsOf(kTarget), static_cast<uint32_t>(arguments.heads));
  const int lane = threadIdx.x;
  T* source = qkv + at.Source(arguments.heads, head_dim);
  float sum = 0.0f;
  for (int64_t c = lane; c < head_dim; c += 32) sum += values[c] = Widen(source[c]);
  if (at.part < 2) {
    const HeadNorms& norms = arguments.norms;
    const float* gamma = at.part == 0 ? norms.q_gamma : norms.k_gamma;
    const float* beta = at.part == 0 ? norms.q_beta : norms.k_beta;
    const float mean = WarpSum(sum) / static_cast<float>(head_dim);
    float squares = 0.0f;
    for (int64_t c = lane; c < head_dim; c += 32) {
      squares += (values[c] - mean) * (values[c] - mean);
    }
    const float scale = 1.0f / sqrtf(WarpSum(squares) / static_cast<float>(head_dim) + norms.eps);
    for (int64_t c = lane; c < head_dim; c += 32) {
      values[c] = (values[c] - mean) * scale * gamma[c] + beta[c];
    }
    __syncwarp();
    const int64_t pairs = head_dim / 2;
    const int64_t row = at.row % arguments.table_rows * pairs;
    for (int64_t p = lane; p < pairs; p += 32) {
      const int64_t share = pairs / 2;  // of a half; kHalvesOfHalf only
      const bool adjacent = pairing == Pairing::kAdjacent;
      const int64_t first = adjacent ? 2 * p : p < share ? p : pairs + p - share;
      const int64_t second = first + (adjacent ? 1 : share);
      const float c = arguments.cos[row + p], s = arguments.sin[row + p];
      const float a = values[first], b = values[second];
      values[first] = a * c - b * s;
      values[second] = b * c + a * s;
    }
    __syncwarp();
    if (at.part == 0) {
      for (int64_t c = lane; c < head_dim; c += 32) values[c] *= norms.q_scale;
    }
  }
  __syncwarp();
  if (kTarget != Target::kCache || at.part == 0) {
    Result* result = reinterpret_cast<Result*>(source);
    for (int64_t c = lane; c < head_dim; c += 32) result[c] = Narrow<Result>(values[c]);
    return;
  }
  Cache* plane = static_cast<Cache*>(at.part == 1 ? arguments.k : arguments.v);
  Cache* target = plane + arguments.offsets[at.row] + at.head * head_dim;
  for (int64_t c = lane; c < head_dim; c += 32) target[c] = Narrow<Cache>(values[c]);
}

template <typename T, typename Result, typename Cache, int kLanes, Target kTarget>
void LaunchFast(const Arguments& arguments, Pairing pairing, T* qkv, cudaStream_t stream) {
  const int64_t threads = arguments.rows * PartsOf(kTarget) * arguments.heads * kLanes;
  const auto launch = [&](auto kernel) {
    LaunchKernel("NormRotate", kernel, BlocksFor(threads, kBlock), kBlock, 0, stream, arguments,
                 qkv);
  };
  if (pairing == Pairing::kAdjacent) {
    launch(NormRotateKernel<T, Result, Cache, kLanes, kTarget, Pairing::kAdjacent>);
  } else {
    launch(NormRotateKernel<T, Result, Cache, kLanes, kTarget, Pairing::kHalvesOfHalf>);
  }
}

template <typename T, typename Result, typename Cache, Target kTarget>
void Launch(const QkvRows& qkv, const Arguments& arguments, Pairing pairing, cudaStream_t stream) {
  T* data = static_cast<T*>(qkv.data);
  if (qkv.head_dim == 64) {
    LaunchFast<T, Result, Cache, 8, kTarget>(arguments, pairing, data, stream);
  } else if (qkv.head_dim == 128) {
    LaunchFast<T, Result, Cache, 16, kTarget>(arguments, pairing, data, stream);
  } else {
    const auto blocks = static_cast<unsigned>(qkv.rows * PartsOf(kTarget) * qkv.heads);
    const size_t shared = static_cast<size_t>(qkv.head_dim) * sizeof(float);
    LaunchKernel("NormRotate", NormRotateAnyKernel<T, Result, Cache, kTarget>, blocks, 32, shared,
                 stream, arguments, pairing, qkv.head_dim, data);
  }
}

// Calls `function(T{}, Result{})` with the types of the product and of the result.
template <typename Function>
void VisitTypes(const QkvRows& qkv, const char* who, Function&& function) {
  if (qkv.dtype == DType::kF16 && qkv.result == DType::kBF16) {
    return function(__half{}, __nv_bfloat16{});
  }
  if (qkv.dtype != qkv.result) FailUnsupported(who, NameOf(qkv.result));
  VisitF32OrBF16(qkv.dtype, who, [&]<typename T>(T) { function(T{}, T{}); });
}

Arguments MakeArguments(const QkvRows& qkv, const HeadNorms& norms, const RotaryRows& table,
                        const KvRows& cache) {
  return {qkv.rows,   qkv.heads, norms,   table.cos,    table.sin,
          table.rows, cache.k,   cache.v, cache.offsets};
}

template <typename T, typename Cache>
__global__ void __launch_bounds__(kBlock)
    StoreKvKernel(const T* qkv, int64_t count, int64_t width, const int64_t* offsets, Cache* k,
                  Cache* v) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= count) return;
  const int64_t row = index / (2 * width);
  const int64_t column = index % (2 * width);
  const bool is_v = column >= width;
  Cache* plane = is_v ? v : k;
  plane[offsets[row] + column - (is_v ? width : 0)] =
      Narrow<Cache>(Widen(qkv[row * 3 * width + width + column]));
}

__global__ void __launch_bounds__(kBlock)
    TimeAnglesKernel(const float* angles, int64_t count, int64_t tokens, int64_t time_pairs,
                     int64_t pairs, float* cos, float* sin) {
  WaitForPrevious();
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= count) return;
  const int64_t row = index / time_pairs;
  const int64_t column = index % time_pairs;
  const float* frame = angles + row / tokens * 2 * time_pairs;
  cos[row * pairs + column] = frame[column];
  sin[row * pairs + column] = frame[time_pairs + column];
}

}  // namespace

void NormRotate(const QkvRows& qkv, const HeadNorms& norms, const RotaryRows& table,
                cudaStream_t stream) {
  if (qkv.rows == 0) return;
  const Arguments arguments = MakeArguments(qkv, norms, table, {});
  VisitTypes(qkv, "NormRotate", [&]<typename T, typename Result>(T, Result) {
    constexpr Target kTarget = std::is_same_v<T, Result> ? Target::kInPlace : Target::kOtherType;
    Launch<T, Result, Result, kTarget>(qkv, arguments, table.pairing, stream);
  });
}

void NormRotateToCache(const QkvRows& qkv, const HeadNorms& norms, const RotaryRows& table,
                       const KvRows& cache, cudaStream_t stream) {
  if (qkv.rows == 0) return;
  const Arguments arguments = MakeArguments(qkv, norms, table, cache);
  VisitTypes(qkv, "NormRotateToCache", [&]<typename T, typename Result>(T, Result) {
    VisitF32OrBF16(cache.dtype, "NormRotateToCache", [&]<typename Cache>(Cache) {
      Launch<T, Result, Cache, Target::kCache>(qkv, arguments, table.pairing, stream);
    });
  });
}

void StoreKv(const QkvRows& qkv, const KvRows& cache, cudaStream_t stream) {
  if (qkv.rows == 0) return;
  const int64_t width = qkv.heads * qkv.head_dim;
  const int64_t count = qkv.rows * 2 * width;
  VisitF32OrBF16(qkv.dtype, "StoreKv", [&]<typename T>(T) {
    VisitF32OrBF16(cache.dtype, "StoreKv", [&]<typename Cache>(Cache) {
      LaunchKernel("StoreKv", StoreKvKernel<T, Cache>, BlocksFor(count, kBlock), kBlock, 0, stream,
                   static_cast<const T*>(qkv.data), count, width, cache.offsets,
                   static_cast<Cache*>(cache.k), static_cast<Cache*>(cache.v));
    });
  });
}

void WriteTimeAngles(const float* angles, int64_t frames, int64_t tokens, int64_t time_pairs,
                     int64_t pairs, float* cos, float* sin, cudaStream_t stream) {
  const int64_t count = frames * tokens * time_pairs;
  if (count == 0) return;
  LaunchKernel("WriteTimeAngles", TimeAnglesKernel, BlocksFor(count, kBlock), kBlock, 0, stream,
               angles, count, tokens, time_pairs, pairs, cos, sin);
}

}  // namespace lingbot::ops::cuda
