#include "ops/cuda/attention_dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "ops/cuda/attention_dense_internal.h"

namespace lingbot::ops::cuda {
namespace dense {
namespace {

constexpr float kLog2E = 1.44269504088896340736f;

// ---- merging the parts of split work items
// --------------------------------------------------------

constexpr int kMergeThreads = 256;

// One work item's parts in the order of their CTAs, so that sums are the same in every run.
struct Parts {
  int first_cta;
  int last_cta;
  int begin;  // of the work item, in tiles
};

__device__ const float* PartOf(const Params& params, const Parts& parts, int cta, int total,
                               int ctas, int head_dim) {
  const int share_begin = ShareBegin(total, ctas, cta);
  const int slot = share_begin >= parts.begin ? 0 : 1;
  return params.parts + static_cast<int64_t>(2 * cta + slot) * PartFloats(head_dim);
}

// The CTA whose share holds tile `tile`.
__device__ int CtaOf(int tile, int total, int ctas) {
  int cta = static_cast<int>(static_cast<int64_t>(tile) * ctas / total);
  while (ShareBegin(total, ctas, cta + 1) <= tile) ++cta;
  while (ShareBegin(total, ctas, cta) > tile) --cta;
  return cta;
}

// Grid (works, groups of rows); a thread makes four columns of one row.
template <int kHeadDim>
__global__ void __launch_bounds__(kMergeThreads)
    Merge(const __grid_constant__ Params params, int kv_tile, int ctas) {
  constexpr int kRowThreads = kHeadDim / 4;
  const DenseExtents& extents =
      params.device_extents != nullptr ? *params.device_extents : params.extents;
  const Tiles tiles(extents.rows, kv_tile);
  const int total = params.works * tiles.count;
  Parts parts;
  parts.begin = blockIdx.x * tiles.count;
  parts.first_cta = CtaOf(parts.begin, total, ctas);
  parts.last_cta = CtaOf(parts.begin + tiles.count - 1, total, ctas);
  if (parts.first_cta == parts.last_cta) return;  // written whole by its CTA

  const WorkItem item(params, blockIdx.x);
  const int row = blockIdx.y * (kMergeThreads / kRowThreads) + threadIdx.x / kRowThreads;
  const int token = item.q_begin + row;
  if (token >= params.q_tokens) return;
  const int column = threadIdx.x % kRowThreads * 4;
  float max = -INFINITY;
  for (int cta = parts.first_cta; cta <= parts.last_cta; ++cta) {
    const float* part = PartOf(params, parts, cta, total, ctas, kHeadDim);
    max = fmaxf(max, part[kQTile * (kHeadDim + 1) + row]);
  }
  float sum = 0.0f;
  float4 out = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int cta = parts.first_cta; cta <= parts.last_cta; ++cta) {
    const float* part = PartOf(params, parts, cta, total, ctas, kHeadDim);
    const float factor = exp2f(part[kQTile * (kHeadDim + 1) + row] - max);
    const float4 o = *reinterpret_cast<const float4*>(part + row * kHeadDim + column);
    sum += factor * part[kQTile * kHeadDim + row];
    out.x += factor * o.x;
    out.y += factor * o.y;
    out.z += factor * o.z;
    out.w += factor * o.w;
  }
  const float inverse = 1.0f / sum;
  __nv_bfloat162* to = reinterpret_cast<__nv_bfloat162*>(
      params.out +
      ((static_cast<int64_t>(item.batch) * params.q_tokens + token) * params.heads + item.head) *
          kHeadDim +
      column);
  to[0] = __floats2bfloat162_rn(out.x * inverse, out.y * inverse);
  to[1] = __floats2bfloat162_rn(out.z * inverse, out.w * inverse);
}

template <int kHeadDim>
void LaunchMerge(const Params& params, const DensePlan& plan, cudaStream_t stream) {
  constexpr int kRows = kMergeThreads / (kHeadDim / 4);
  const int row_groups = (std::min(plan.shape.q_tokens, kQTile) + kRows - 1) / kRows;
  Merge<kHeadDim><<<dim3(params.works, row_groups), kMergeThreads, 0, stream>>>(
      params, plan.kv_tile, plan.ctas);
  CheckLaunch("dense attention merge");
}

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
  params.split = plan.split;
  return params;
}

void RunWith(LaunchFunction launch, const DensePlan& plan, const DenseInput& input, void* out,
             void* workspace, cudaStream_t stream) {
  const Params params = MakeParams(plan, input, out, workspace);
  launch(params, plan.ctas, stream);
  if (!plan.split) return;
  if (plan.shape.head_dim == 64) {
    LaunchMerge<64>(params, plan, stream);
  } else {
    LaunchMerge<128>(params, plan, stream);
  }
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
  Check(works * kv_tiles < int64_t{1} << 31, ErrorCode::kInvalidArgument,
        "dense attention: {} batches of {} queries and {} heads over {} rows are too many for one "
        "launch",
        shape.batches, shape.q_tokens, shape.heads, shape.kv_capacity);

  // Whole work items keep `busy` of the multiprocessors busy. Splitting keeps all of them, but
  // costs a second launch and the parts' way through memory: about as long as 12 tiles take.
  constexpr int64_t kSplitTiles = 12;
  const int64_t rounds = (works + multiprocessors - 1) / multiprocessors;
  const int64_t share = (works * kv_tiles + multiprocessors - 1) / multiprocessors;
  plan.split = rounds * kv_tiles > share + kSplitTiles;
  plan.ctas =
      static_cast<int>(plan.split ? multiprocessors : std::min<int64_t>(works, multiprocessors));
  if (plan.split) {
    plan.workspace_bytes =
        size_t{2} * plan.ctas * dense::PartFloats(shape.head_dim) * sizeof(float);
  }
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
            (!plan.split || workspace != nullptr),
        ErrorCode::kInternal,
        "dense attention: needs extents in one place, even query strides ({}, {}), a positive "
        "scale ({}) and, where split, a workspace",
        input.q_token_stride, input.q_batch_stride, input.scale);
  const bool running_max = DenseNeedsRunningMax(input.score_bound, plan.shape.kv_capacity);
  dense::LaunchFunction launch;
  if (plan.shape.head_dim == 64) {
    launch = running_max ? dense::LaunchRunningMax64 : dense::LaunchNoMax64;
  } else {
    launch = running_max ? dense::LaunchRunningMax128 : dense::LaunchNoMax128;
  }
  dense::RunWith(launch, plan, input, out, workspace, stream);
}

}  // namespace lingbot::ops::cuda
