#include "ops/cuda/attention_dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ops/cuda/attention_dense_internal.h"

namespace lingbot::ops::cuda {
namespace dense {
namespace {

constexpr float kLog2E = 1.44269504088896340736f;

// ---- tensor maps
// ----------------------------------------------------------------------------------

using EncodeFunction = decltype(&cuTensorMapEncodeTiled);

// From the driver itself, so that nothing links against it.
EncodeFunction FindEncode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                              12000, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<EncodeFunction>(function);
}

EncodeFunction Encode() {
  static const EncodeFunction function = FindEncode();
  return function;
}

// Dimensions [batches, rows, heads * head_dim]; a box is 64 columns (128 bytes, the widest the
// swizzle allows) of kv_tile rows. Rows past the end, of this batch too, read as zeros.
void EncodeMap(const DensePlan& plan, int64_t row_stride, int64_t batch_stride, const void* base,
               int64_t rows, CUtensorMap* map) {
  const cuuint64_t sizes[3] = {
      static_cast<cuuint64_t>(plan.shape.heads) * static_cast<cuuint64_t>(plan.shape.head_dim),
      static_cast<cuuint64_t>(rows), static_cast<cuuint64_t>(plan.shape.batches)};
  const cuuint64_t strides[2] = {
      static_cast<cuuint64_t>(row_stride) * 2,
      static_cast<cuuint64_t>(plan.shape.batches > 1 ? batch_stride : row_stride) * 2};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(plan.kv_tile), 1};
  const cuuint32_t element_strides[3] = {1, 1, 1};
  Check(Encode() != nullptr, ErrorCode::kUnavailable,
        "dense attention: the CUDA driver lacks cuTensorMapEncodeTiled; a driver for CUDA 12 or "
        "later is needed");
  const CUresult result =
      Encode()(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(base), sizes, strides,
               box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  Check(result == CUDA_SUCCESS, ErrorCode::kInternal,
        "dense attention: no tensor map for {} rows of {} elements, {} elements apart, at {}: CUDA "
        "error {}",
        rows, sizes[0], row_stride, base, static_cast<int>(result));
}

}  // namespace

void SetSplits(int splits, int multiprocessors, DensePlan* plan) {
  const int64_t q_tiles = (plan->shape.q_tokens + int64_t{kQTile} - 1) / kQTile;
  const int64_t units = splits * plan->shape.batches * plan->shape.heads * q_tiles;
  plan->splits = splits;
  plan->ctas = static_cast<int>(std::min<int64_t>(units, multiprocessors));
  plan->workspace_bytes =
      splits == 1 ? 0 : units * PartFloats(plan->shape.head_dim) * sizeof(float);
}

// Splitting fills multiprocessors that too few or too many work items would leave idle. Costs in
// the time of one tile, about 0.7 us: filling and draining the pipeline of a unit takes 3, the
// launch that merges 6, a part's way through memory 1/40.
int ChooseSplits(int64_t works, int64_t kv_tiles, int multiprocessors) {
  int best = 1;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int splits = 1; splits <= kMaxSplits; ++splits) {
    const int64_t units = works * splits;
    const int64_t rounds = (units + multiprocessors - 1) / multiprocessors;
    const double cost =
        rounds * ((kv_tiles + splits - 1) / splits + 3.0) + (splits > 1 ? 6.0 + units / 40.0 : 0.0);
    if (cost < best_cost) {
      best = splits;
      best_cost = cost;
    }
  }
  return best;
}

Exponent ChooseExponent(const DensePlan& plan, const DenseInput& input) {
  if (DenseNeedsRunningMax(input.score_bound, plan.shape.kv_capacity)) return Exponent::kRunningMax;
  return input.scale == kDensePrescaled ? Exponent::kUnit : Exponent::kScaled;
}

LaunchFunction FindLaunch(int head_dim, Exponent exponent) {
  switch (exponent) {
    case Exponent::kRunningMax:
      return head_dim == 64 ? LaunchRunningMax64 : LaunchRunningMax128;
    case Exponent::kScaled:
      return head_dim == 64 ? LaunchScaled64 : LaunchScaled128;
    case Exponent::kUnit:
      return head_dim == 64 ? LaunchUnit64 : LaunchUnit128;
  }
  Fail(ErrorCode::kInternal, "dense attention: no kernel of kind {}", static_cast<int>(exponent));
}

Params MakeParams(const DensePlan& plan, const DenseInput& input, void* out, void* workspace) {
  const DenseShape& shape = plan.shape;
  Params params;
  std::memset(&params, 0, sizeof params);
  params.device_extents = input.device_extents;
  if (input.host_extents != nullptr) params.extents = *input.host_extents;
  params.q = static_cast<const __nv_bfloat16*>(input.q);
  params.out = static_cast<__nv_bfloat16*>(out);
  params.parts = static_cast<float*>(workspace);
  params.q_token_stride = input.q_token_stride;
  params.q_batch_stride = input.q_batch_stride;
  params.q_tokens = shape.q_tokens;
  params.heads = shape.heads;
  params.q_tiles = (shape.q_tokens + kQTile - 1) / kQTile;
  params.works = shape.batches * shape.heads * params.q_tiles;
  params.scale_log2 = input.scale * kLog2E;
  params.zero = 0.0f;
  params.splits = plan.splits;
  return params;
}

void RunWith(LaunchFunction launch, const DensePlan& plan, const DenseInput& input, void* out,
             void* workspace, cudaStream_t stream) {
  const Params params = MakeParams(plan, input, out, workspace);
  launch(params, plan.ctas, stream);
  if (plan.splits > 1) LaunchMerge(params, plan, stream);
}

}  // namespace dense

bool DenseSupported(int device) {
  int major = 0;
  int minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return major == 9 && minor == 0 && dense::HasHopperCode() && dense::Encode() != nullptr;
}

bool DenseNeedsRunningMax(float score_bound, int64_t kv_capacity) {
  return !(score_bound + std::log2(static_cast<float>(kv_capacity)) < 120.0f);
}

DensePlan PlanDense(const DenseShape& shape, int multiprocessors) {
  Check(shape.head_dim == 64 || shape.head_dim == 128, ErrorCode::kUnavailable,
        "dense attention: head_dim {} has no kernel, only 64 and 128 do; choose another attention "
        "back end",
        shape.head_dim);
  Check(shape.batches >= 1 && shape.q_tokens >= 1 && shape.heads >= 1 && shape.kv_capacity >= 1 &&
            multiprocessors >= 1,
        ErrorCode::kInvalidArgument,
        "dense attention: {} batches, {} queries, {} heads, {} visible rows, {} multiprocessors: "
        "each must be at least 1",
        shape.batches, shape.q_tokens, shape.heads, shape.kv_capacity, multiprocessors);
  DensePlan plan;
  plan.shape = shape;
  plan.kv_tile = shape.head_dim == 64 ? dense::kKvTile64 : dense::kKvTile128;
  const int64_t q_tiles = (shape.q_tokens + int64_t{dense::kQTile} - 1) / dense::kQTile;
  const int64_t works = shape.batches * shape.heads * q_tiles;
  // One tile more for each extent's tail.
  const int64_t kv_tiles = (shape.kv_capacity + plan.kv_tile - 1) / plan.kv_tile + 1;
  // Tile numbers times splits, and units, are 32-bit on the device.
  constexpr int64_t kMost = int64_t{1} << 26;
  Check(kv_tiles < kMost && works < kMost, ErrorCode::kInvalidArgument,
        "dense attention: {} batches of {} queries and {} heads over {} rows are too many for one "
        "launch",
        shape.batches, shape.q_tokens, shape.heads, shape.kv_capacity);

  plan.splits = dense::ChooseSplits(works, kv_tiles, multiprocessors);
  dense::SetSplits(plan.splits, multiprocessors, &plan);
  return plan;
}

void EncodeDenseExtents(const DensePlan& plan, int64_t row_stride, int64_t batch_stride,
                        const DenseRows& first, const DenseRows& second, DenseExtents* out) {
  Check(first.rows >= 1 && second.rows >= 0 && first.rows + second.rows <= plan.shape.kv_capacity,
        ErrorCode::kInvalidArgument,
        "dense attention: extents of {} and {} rows; the first needs at least 1, both together at "
        "most the plan's {}",
        first.rows, second.rows, plan.shape.kv_capacity);
  const DenseRows* extents[2] = {&first, second.rows > 0 ? &second : &first};
  for (int i = 0; i < 2; ++i) {
    dense::EncodeMap(plan, row_stride, batch_stride, extents[i]->k, extents[i]->rows, &out->k[i]);
    dense::EncodeMap(plan, row_stride, batch_stride, extents[i]->v, extents[i]->rows, &out->v[i]);
  }
  out->rows[0] = static_cast<int32_t>(first.rows);
  out->rows[1] = static_cast<int32_t>(second.rows);
}

void RunDense(const DensePlan& plan, const DenseInput& input, void* out, void* workspace,
              cudaStream_t stream) {
  Check((input.device_extents == nullptr) != (input.host_extents == nullptr) &&
            input.q_token_stride % 2 == 0 && input.q_batch_stride % 2 == 0 && input.scale > 0.0f &&
            (plan.splits == 1 || workspace != nullptr),
        ErrorCode::kInternal,
        "dense attention: needs extents in one place, even query strides ({}, {}), a positive "
        "scale ({}) and, where split, a workspace",
        input.q_token_stride, input.q_batch_stride, input.scale);
  const dense::Exponent exponent = dense::ChooseExponent(plan, input);
  dense::RunWith(dense::FindLaunch(plan.shape.head_dim, exponent), plan, input, out, workspace,
                 stream);
}

}  // namespace lingbot::ops::cuda
