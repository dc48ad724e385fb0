#include "ops/cuda/attention_sdpa.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/cuda/attention_merge.h"
#include "ops/cuda/attention_plan.h"
#include "ops/cuda/attention_sdpa_kernels.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
// Scores in memory at a time: 128 MB in float32, and as much again for bfloat16 probabilities and
// what their rounding leaves.
// Large enough for a product to fill the device, small beside the cache.
constexpr int64_t kScoreElements = int64_t{32} << 20;
// Keys in one product. More are cut into slices, whose results are merged in float32: gathered
// copies stay small (64 MB for 16 heads of 64 in bfloat16), and no sum that cuBLAS makes is so long
// that its order of additions shows.
constexpr int64_t kSliceTokens = 16384;
constexpr size_t kAlignment = 256;

size_t Align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
int64_t RoundUp(int64_t value) { return (value + 7) / 8 * 8; }

struct Slices {
  int count = 1;
  int64_t tokens = 0;  // of every slice but the last, which may be shorter
};

Slices CutKeys(int64_t kv_tokens) {
  const int count = CeilDiv(kv_tokens, kSliceTokens);
  const int64_t tokens = RoundUp(CeilDiv(kv_tokens, count));
  return {CeilDiv(kv_tokens, tokens), tokens};
}

// How many heads and queries of each go through the score buffer at once.
struct Chunk {
  int heads = 1;
  int q_tokens = 1;
};

Chunk ChooseChunk(int heads, int q_tokens, int64_t slice_tokens) {
  const int64_t rows = kScoreElements / slice_tokens;
  if (rows >= q_tokens) {
    return {static_cast<int>(std::min<int64_t>(heads, rows / q_tokens)), q_tokens};
  }
  const int parts = CeilDiv(q_tokens, rows);
  return {1, CeilDiv(q_tokens, parts)};
}

// Positions within the workspace, in bytes.
struct Workspace {
  size_t probabilities = 0;  // scores lie at 0; float32 works in place
  size_t rests = 0;          // bfloat16: what rounding took from the probabilities
  size_t parts = 0;          // [slices, q_tokens, heads, head_dim] float32
  size_t lse = 0;            // [slices, q_tokens, heads]
  size_t k_rows = 0, v_rows = 0;
  size_t size = 0;
};

// The weighted sum is a product in float32, as one part of several. With bfloat16 also if there is
// only one: it is made of two products.
bool NeedsParts(const SdpaType& type, int slices) {
  return slices > 1 || type.dtype == DType::kBF16;
}

// Every size is a bound that grows with q_tokens and kv_tokens, so that a workspace planned for the
// largest step serves all smaller ones, however their keys are cut.
Workspace Lay(const SdpaType& type, int q_tokens, int64_t kv_tokens, bool gather) {
  const auto row = static_cast<size_t>(type.heads) * static_cast<size_t>(type.head_dim);
  const auto q = static_cast<size_t>(q_tokens);
  const auto slice = static_cast<size_t>(RoundUp(std::min(kv_tokens, kSliceTokens)));
  const size_t scores =
      std::min(static_cast<size_t>(type.heads) * q * slice, static_cast<size_t>(kScoreElements));
  const int slices = CeilDiv(kv_tokens, kSliceTokens);
  const size_t parts = NeedsParts(type, slices) ? slices * q * row : 0;
  const size_t gathered = gather ? Align(slice * row * SizeOf(type.dtype)) : 0;
  Workspace at;
  const size_t rounded = Align(scores * sizeof(uint16_t));
  const bool f32 = type.dtype == DType::kF32;
  at.probabilities = f32 ? 0 : Align(scores * sizeof(float));
  at.rests = f32 ? 0 : at.probabilities + rounded;
  at.parts = f32 ? Align(scores * sizeof(float)) : at.rests + rounded;
  at.lse = at.parts + Align(parts * sizeof(float));
  at.k_rows = at.lse + Align(parts / static_cast<size_t>(type.head_dim) * sizeof(float));
  at.v_rows = at.k_rows + gathered;
  at.size = at.v_rows + gathered;
  return at;
}

void CheckType(const SdpaType& type) {
  Check(type.dtype == DType::kF32 || type.dtype == DType::kBF16, ErrorCode::kInternal,
        "sdpa attention: {} is neither float32 nor bfloat16", NameOf(type.dtype));
  Check(type.heads >= 1 && type.head_dim >= 8 && type.head_dim % 8 == 0 && type.head_dim <= 256,
        ErrorCode::kInternal, "sdpa attention: {} heads of {} channels, not a multiple of 8 to 256",
        type.heads, type.head_dim);
}

void CheckBlas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    FailLibrary(call, static_cast<int>(status));
  }
}

// cuBLAS may cut a long sum into parts and add those in bfloat16. Forbidden while an object lives.
class FullPrecisionSums {
 public:
  explicit FullPrecisionSums(cublasContext* handle) : handle_(handle) {
    CheckBlas(cublasGetMathMode(handle, &before_), "cublasGetMathMode");
    CheckBlas(cublasSetMathMode(handle, static_cast<cublasMath_t>(
                                            CUBLAS_DEFAULT_MATH |
                                            CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
              "cublasSetMathMode");
  }
  ~FullPrecisionSums() { cublasSetMathMode(handle_, before_); }
  FullPrecisionSums(const FullPrecisionSums&) = delete;
  FullPrecisionSums& operator=(const FullPrecisionSums&) = delete;

 private:
  cublasContext* handle_;
  cublasMath_t before_ = CUBLAS_DEFAULT_MATH;
};

// Rows of q and of the result, [tokens, heads, head_dim] with strides in elements.
struct Queries {
  const char* q = nullptr;
  int64_t q_stride = 0;
  int tokens = 0;
};

// K and V of some tokens, channels of a head contiguous; stride in elements.
struct Keys {
  const char* k = nullptr;
  const char* v = nullptr;
  int64_t token_stride = 0;
  int64_t tokens = 0;
};

// Where the result of a slice of keys goes: the float32 output itself, or a part.
struct Target {
  float* data = nullptr;
  float* lse = nullptr;
};

class Products {
 public:
  Products(cublasContext* handle, const SdpaType& type, const Workspace& at, void* workspace,
           CudaStream stream)
      : handle_(handle),
        type_(type),
        at_(at),
        workspace_(static_cast<char*>(workspace)),
        stream_(stream),
        full_sums_(handle) {
    cublasPointerMode_t mode;
    CheckBlas(cublasGetPointerMode(handle, &mode), "cublasGetPointerMode");
    Check(mode == CUBLAS_POINTER_MODE_HOST, ErrorCode::kInternal,
          "sdpa attention needs a cuBLAS handle with host pointers");
  }

  // `keys_of(begin, tokens)` makes a slice of keys ready. out: contiguous.
  template <typename KeysOf>
  void Attend(const Queries& queries, int64_t kv_tokens, const KeysOf& keys_of, char* out) const {
    const Slices slices = CutKeys(kv_tokens);
    const Chunk chunk = ChooseChunk(type_.heads, queries.tokens, slices.tokens);
    const int64_t rows = static_cast<int64_t>(queries.tokens) * type_.heads;
    auto* parts = reinterpret_cast<float*>(workspace_ + at_.parts);
    auto* lse = reinterpret_cast<float*>(workspace_ + at_.lse);
    const bool in_parts = NeedsParts(type_, slices.count);
    for (int i = 0; i < slices.count; ++i) {
      const int64_t begin = i * slices.tokens;
      const Keys keys = keys_of(begin, std::min(slices.tokens, kv_tokens - begin));
      Target target{reinterpret_cast<float*>(out), nullptr};
      if (in_parts) target = {parts + i * rows * type_.head_dim, lse + i * rows};
      AttendSlice(queries, keys, chunk, target);
    }
    if (in_parts) {
      MergeFixedParts(parts, lse, slices.count, rows, type_.head_dim, out,
                      type_.dtype == DType::kF32, stream_);
    }
  }

 private:
  void AttendSlice(const Queries& queries, const Keys& keys, const Chunk& chunk,
                   const Target& target) const {
    const size_t element = SizeOf(type_.dtype);
    for (int head = 0; head < type_.heads; head += chunk.heads) {
      const int heads = std::min(chunk.heads, type_.heads - head);
      const size_t channel = static_cast<size_t>(head) * type_.head_dim;
      const Keys of_heads{keys.k + channel * element, keys.v + channel * element, keys.token_stride,
                          keys.tokens};
      for (int row = 0; row < queries.tokens; row += chunk.q_tokens) {
        const size_t q_offset = static_cast<size_t>(row) * queries.q_stride + channel;
        const size_t out_offset = static_cast<size_t>(row) * type_.heads * type_.head_dim + channel;
        AttendChunk(
            {queries.q + q_offset * element, queries.q_stride,
             std::min(chunk.q_tokens, queries.tokens - row)},
            heads, of_heads,
            {target.data + out_offset,
             target.lse == nullptr ? nullptr
                                   : target.lse + static_cast<int64_t>(row) * type_.heads + head});
      }
    }
  }

  // Row-major S = Q K^T is, column by column, S^T = K Q^T; likewise O^T = V^T P^T.
  void AttendChunk(const Queries& queries, int heads, const Keys& keys,
                   const Target& target) const {
    const bool bf16 = type_.dtype == DType::kBF16;
    const cudaDataType element = bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute = bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
    const int tokens = static_cast<int>(keys.tokens);
    const int columns = static_cast<int>(RoundUp(keys.tokens));
    const int64_t score_stride = static_cast<int64_t>(queries.tokens) * columns;
    const int dim = type_.head_dim;
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    const float one = 1.0f;
    const float zero = 0.0f;
    auto* scores = reinterpret_cast<float*>(workspace_);
    CheckBlas(cublasGemmStridedBatchedEx(
                  handle_, CUBLAS_OP_T, CUBLAS_OP_N, tokens, queries.tokens, dim, &scale, keys.k,
                  element, static_cast<int>(keys.token_stride), dim, queries.q, element,
                  static_cast<int>(queries.q_stride), dim, &zero, scores, CUDA_R_32F, columns,
                  score_stride, heads, compute, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx (scores)");
    const ScoreRows rows{scores,  heads,      queries.tokens, keys.tokens,
                         columns, target.lse, type_.heads};
    const auto weighted_sum = [&](const void* probabilities, float beta) {
      CheckBlas(cublasGemmStridedBatchedEx(
                    handle_, CUBLAS_OP_N, CUBLAS_OP_N, dim, queries.tokens, tokens, &one, keys.v,
                    element, static_cast<int>(keys.token_stride), dim, probabilities, element,
                    columns, score_stride, &beta, target.data, CUDA_R_32F, type_.heads * dim, dim,
                    heads, compute, CUBLAS_GEMM_DEFAULT),
                "cublasGemmStridedBatchedEx (values)");
    };
    if (!bf16) {
      SoftmaxRows(rows, scores, stream_);
      weighted_sum(scores, 0.0f);
      return;
    }
    char* probabilities = workspace_ + at_.probabilities;
    char* rests = workspace_ + at_.rests;
    SoftmaxRows(rows, probabilities, rests, stream_);
    weighted_sum(probabilities, 0.0f);
    weighted_sum(rests, 1.0f);
  }

  cublasContext* handle_;
  const SdpaType& type_;
  const Workspace& at_;
  char* workspace_;
  CudaStream stream_;
  FullPrecisionSums full_sums_;
};

void CheckWorkspace(const Workspace& at, size_t given) {
  Check(given >= at.size, ErrorCode::kInternal, "sdpa attention: workspace of {} bytes, needs {}",
        given, at.size);
}

}  // namespace

size_t SdpaPagedWorkspace(const SdpaType& type, int q_tokens, int64_t kv_tokens) {
  CheckType(type);
  return Lay(type, q_tokens, kv_tokens, /*gather=*/true).size;
}

size_t SdpaFramesWorkspace(const SdpaType& type, int tokens) {
  CheckType(type);
  return Lay(type, tokens, tokens, /*gather=*/false).size;
}

void SdpaPaged(cublasContext* handle, const SdpaType& type, const PagedStep& step,
               const PagedCall& call, void* workspace, size_t workspace_bytes, CudaStream stream) {
  CheckType(type);
  CheckStep(step, {step.q_tokens, type.heads, type.head_dim});
  const Workspace at = Lay(type, step.q_tokens, step.kv_tokens, /*gather=*/true);
  CheckWorkspace(at, workspace_bytes);
  const int row = type.heads * type.head_dim;
  const int element_bytes = static_cast<int>(SizeOf(type.dtype));
  char* k_rows = static_cast<char*>(workspace) + at.k_rows;
  char* v_rows = static_cast<char*>(workspace) + at.v_rows;
  const auto gather = [&](int64_t begin, int64_t tokens) -> Keys {
    GatherRows(call.kv, step.page_size, begin, tokens, row * element_bytes, element_bytes, k_rows,
               v_rows, stream);
    return {k_rows, v_rows, row, tokens};
  };
  Products(handle, type, at, workspace, stream)
      .Attend({static_cast<const char*>(call.q), call.q_token_stride, step.q_tokens},
              step.kv_tokens, gather, static_cast<char*>(call.out));
}

void SdpaFrames(cublasContext* handle, const SdpaType& type, int frames, int tokens,
                const FrameCall& call, void* workspace, size_t workspace_bytes, CudaStream stream) {
  CheckType(type);
  CheckFrames({frames, tokens, type.heads, type.head_dim});
  const Workspace at = Lay(type, tokens, tokens, /*gather=*/false);
  CheckWorkspace(at, workspace_bytes);
  const Products products(handle, type, at, workspace, stream);
  const size_t element = SizeOf(type.dtype);
  const size_t in_row = static_cast<size_t>(call.token_stride) * element;
  const size_t out_frame = static_cast<size_t>(tokens) * type.heads * type.head_dim * element;
  for (int frame = 0; frame < frames; ++frame) {
    const size_t offset = static_cast<size_t>(frame) * tokens * in_row;
    const auto in_place = [&](int64_t begin, int64_t count) -> Keys {
      const size_t at_token = offset + static_cast<size_t>(begin) * in_row;
      return {static_cast<const char*>(call.k) + at_token,
              static_cast<const char*>(call.v) + at_token, call.token_stride, count};
    };
    products.Attend({static_cast<const char*>(call.q) + offset, call.token_stride, tokens}, tokens,
                    in_place, static_cast<char*>(call.out) + frame * out_frame);
  }
}

}  // namespace lingbot::ops::cuda
