#include "ops/cuda/attention_sdpa.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/cuda/attention_plan.h"
#include "ops/cuda/attention_sdpa_kernels.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
// Scores in memory at a time: 128 MB in float32, and half of it again for bfloat16 probabilities.
// Large enough for a product to fill the device, small beside the cache.
constexpr int64_t kScoreElements = int64_t{32} << 20;
constexpr size_t kAlignment = 256;

size_t Align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
int64_t PaddedColumns(int64_t kv_tokens) { return (kv_tokens + 7) / 8 * 8; }

// How many heads and queries of each go through the score buffer at once.
struct Chunk {
  int heads = 1;
  int q_tokens = 1;
};

Chunk ChooseChunk(int heads, int q_tokens, int64_t kv_tokens) {
  const int64_t rows = std::max<int64_t>(1, kScoreElements / PaddedColumns(kv_tokens));
  if (rows >= q_tokens) {
    return {static_cast<int>(std::min<int64_t>(heads, rows / q_tokens)), q_tokens};
  }
  const int parts = CeilDiv(q_tokens, rows);
  return {1, CeilDiv(q_tokens, parts)};
}

struct ScoreBytes {
  size_t scores = 0;
  size_t probabilities = 0;  // 0: in place
};

ScoreBytes ScoreBytesFor(const SdpaType& type, int q_tokens, int64_t kv_tokens) {
  const Chunk chunk = ChooseChunk(type.heads, q_tokens, kv_tokens);
  const auto elements = static_cast<size_t>(chunk.heads) * static_cast<size_t>(chunk.q_tokens) *
                        static_cast<size_t>(PaddedColumns(kv_tokens));
  return {Align(elements * sizeof(float)),
          type.dtype == DType::kBF16 ? Align(elements * SizeOf(DType::kBF16)) : 0};
}

size_t GatheredBytes(const SdpaType& type, int64_t kv_tokens) {
  return Align(static_cast<size_t>(kv_tokens) * type.heads * type.head_dim * SizeOf(type.dtype));
}

void CheckType(const SdpaType& type, int64_t kv_tokens, size_t needed, size_t given) {
  Check(type.dtype == DType::kF32 || type.dtype == DType::kBF16, ErrorCode::kInternal,
        "sdpa attention: {} is neither float32 nor bfloat16", NameOf(type.dtype));
  Check(type.heads >= 1 && type.head_dim >= 8 && type.head_dim % 8 == 0 && type.head_dim <= 256,
        ErrorCode::kInternal, "sdpa attention: {} heads of {} channels, not a multiple of 8 to 256",
        type.heads, type.head_dim);
  Check(kv_tokens <= kMaxInt, ErrorCode::kInternal, "sdpa attention: {} keys", kv_tokens);
  Check(given >= needed, ErrorCode::kInternal, "sdpa attention: workspace of {} bytes, needs {}",
        given, needed);
}

// K and V of one frame, channels of a head contiguous; strides in elements.
struct DenseKv {
  const char* k = nullptr;
  const char* v = nullptr;
  int64_t token_stride = 0;
  int64_t tokens = 0;
};

void CheckBlas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    FailLibrary(call, static_cast<int>(status));
  }
}

// A long sum over keys is cut into parts by cuBLAS, which may then add the parts in bfloat16: with
// 98,568 keys that cost 1.4 % (relative L2). Forbidden while an object of this class lives.
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

class Products {
 public:
  Products(cublasContext* handle, const SdpaType& type, char* scores, CudaStream stream)
      : handle_(handle), type_(type), scores_(scores), stream_(stream), full_sums_(handle) {
    cublasPointerMode_t mode;
    CheckBlas(cublasGetPointerMode(handle, &mode), "cublasGetPointerMode");
    Check(mode == CUBLAS_POINTER_MODE_HOST, ErrorCode::kInternal,
          "sdpa attention needs a cuBLAS handle with host pointers");
  }

  // q: [q_tokens, heads, head_dim] with its stride; out: contiguous.
  void Attend(const char* q, int64_t q_stride, int q_tokens, const DenseKv& kv, char* out) const {
    const Chunk chunk = ChooseChunk(type_.heads, q_tokens, kv.tokens);
    const int64_t out_stride = static_cast<int64_t>(type_.heads) * type_.head_dim;
    for (int head = 0; head < type_.heads; head += chunk.heads) {
      const int heads = std::min(chunk.heads, type_.heads - head);
      const int64_t channel = static_cast<int64_t>(head) * type_.head_dim;
      const DenseKv part{kv.k + Bytes(channel), kv.v + Bytes(channel), kv.token_stride, kv.tokens};
      for (int row = 0; row < q_tokens; row += chunk.q_tokens) {
        const int rows = std::min(chunk.q_tokens, q_tokens - row);
        AttendChunk(q + Bytes(row * q_stride + channel), q_stride, rows, heads, part,
                    out + Bytes(row * out_stride + channel), out_stride);
      }
    }
  }

 private:
  size_t Bytes(int64_t elements) const {
    return static_cast<size_t>(elements) * SizeOf(type_.dtype);
  }

  // Row-major S = Q K^T is, column by column, S^T = K Q^T; likewise O^T = V^T P^T.
  void AttendChunk(const char* q, int64_t q_stride, int rows, int heads, const DenseKv& kv,
                   char* out, int64_t out_stride) const {
    const bool bf16 = type_.dtype == DType::kBF16;
    const cudaDataType element = bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute = bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
    const int64_t columns = PaddedColumns(kv.tokens);
    const int64_t score_stride = rows * columns;
    const int dim = type_.head_dim;
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    const float one = 1.0f;
    const float zero = 0.0f;
    CheckBlas(cublasGemmStridedBatchedEx(
                  handle_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(kv.tokens), rows, dim, &scale,
                  kv.k, element, static_cast<int>(kv.token_stride), dim, q, element,
                  static_cast<int>(q_stride), dim, &zero, scores_, CUDA_R_32F,
                  static_cast<int>(columns), score_stride, heads, compute, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx (scores)");
    const char* probabilities = Softmax(static_cast<int64_t>(heads) * rows, kv.tokens, columns);
    CheckBlas(cublasGemmStridedBatchedEx(
                  handle_, CUBLAS_OP_N, CUBLAS_OP_N, dim, rows, static_cast<int>(kv.tokens), &one,
                  kv.v, element, static_cast<int>(kv.token_stride), dim, probabilities, element,
                  static_cast<int>(columns), score_stride, &zero, out, element,
                  static_cast<int>(out_stride), dim, heads, compute, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx (values)");
  }

  const char* Softmax(int64_t rows, int64_t tokens, int64_t columns) const {
    auto* scores = reinterpret_cast<float*>(scores_);
    if (type_.dtype == DType::kF32) {
      SoftmaxRowsF32(scores, rows, tokens, columns, scores, stream_);
      return scores_;
    }
    char* probabilities =
        scores_ + Align(static_cast<size_t>(rows) * static_cast<size_t>(columns) * sizeof(float));
    SoftmaxRowsBF16(scores, rows, tokens, columns, probabilities, stream_);
    return probabilities;
  }

  cublasContext* handle_;
  const SdpaType& type_;
  char* scores_;
  CudaStream stream_;
  FullPrecisionSums full_sums_;
};

}  // namespace

size_t SdpaPagedWorkspace(const SdpaType& type, int q_tokens, int64_t kv_tokens) {
  const ScoreBytes bytes = ScoreBytesFor(type, q_tokens, kv_tokens);
  return bytes.scores + bytes.probabilities + 2 * GatheredBytes(type, kv_tokens);
}

size_t SdpaFramesWorkspace(const SdpaType& type, int tokens) {
  const ScoreBytes bytes = ScoreBytesFor(type, tokens, tokens);
  return bytes.scores + bytes.probabilities;
}

void SdpaPaged(cublasContext* handle, const SdpaType& type, const PagedStep& step,
               const PagedCall& call, void* workspace, size_t workspace_bytes, CudaStream stream) {
  CheckStep(step, {step.q_tokens, type.heads, type.head_dim});
  CheckType(type, step.kv_tokens, SdpaPagedWorkspace(type, step.q_tokens, step.kv_tokens),
            workspace_bytes);
  const int64_t row = static_cast<int64_t>(type.heads) * type.head_dim;
  const int element_bytes = static_cast<int>(SizeOf(type.dtype));
  char* k_rows = static_cast<char*>(workspace);
  char* v_rows = k_rows + GatheredBytes(type, step.kv_tokens);
  char* scores = v_rows + GatheredBytes(type, step.kv_tokens);
  GatherRows(call.kv, step.page_size, step.kv_tokens, static_cast<int>(row) * element_bytes,
             element_bytes, k_rows, v_rows, stream);
  Products(handle, type, scores, stream)
      .Attend(static_cast<const char*>(call.q), call.q_token_stride, step.q_tokens,
              {k_rows, v_rows, row, step.kv_tokens}, static_cast<char*>(call.out));
}

void SdpaFrames(cublasContext* handle, const SdpaType& type, int frames, int tokens,
                const FrameCall& call, void* workspace, size_t workspace_bytes, CudaStream stream) {
  CheckFrames({frames, tokens, type.heads, type.head_dim});
  CheckType(type, tokens, SdpaFramesWorkspace(type, tokens), workspace_bytes);
  const Products products(handle, type, static_cast<char*>(workspace), stream);
  const size_t element_bytes = SizeOf(type.dtype);
  const size_t in_bytes = static_cast<size_t>(tokens) * call.token_stride * element_bytes;
  const size_t out_bytes = static_cast<size_t>(tokens) * type.heads * type.head_dim * element_bytes;
  for (int frame = 0; frame < frames; ++frame) {
    products.Attend(
        static_cast<const char*>(call.q) + frame * in_bytes, call.token_stride, tokens,
        {static_cast<const char*>(call.k) + frame * in_bytes,
         static_cast<const char*>(call.v) + frame * in_bytes, call.token_stride, tokens},
        static_cast<char*>(call.out) + frame * out_bytes);
  }
}

}  // namespace lingbot::ops::cuda
