#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>

#include "ops/cuda/attention_fa2_kernels.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

namespace fi = flashinfer;
using Element = nv_bfloat16;
using Params = fi::BatchPrefillPagedParams<Element, Element, Element, int32_t>;
using Variant = fi::DefaultAttention</*use_custom_mask=*/false, /*use_sliding_window=*/false,
                                     /*use_logits_soft_cap=*/false, /*use_alibi=*/false>;

// FlashInfer declares inputs non-const and reads them only.
Element* Mutable(const void* data) {
  return const_cast<Element*>(static_cast<const Element*>(data));
}

fi::paged_kv_t<Element, int32_t> PagedView(const Fa2Launch& launch) {
  const PagedKv& kv = launch.kv;
  const int64_t strides[3] = {kv.page_stride, kv.token_stride, launch.head_dim};
  return {static_cast<uint32_t>(launch.heads),
          static_cast<uint32_t>(launch.page_size),
          static_cast<uint32_t>(launch.head_dim),
          static_cast<uint32_t>(launch.layout.requests),
          fi::QKVLayout::kNHD,
          Mutable(kv.k),
          Mutable(kv.v),
          strides,
          strides,
          const_cast<int32_t*>(kv.pages),
          launch.work + launch.layout.kv_indptr,
          launch.work + launch.layout.last_page};
}

Params MakeParams(const Fa2Launch& launch) {
  const Fa2Layout& layout = launch.layout;
  int32_t* work = launch.work;
  Params params;
  params.q = Mutable(launch.q);
  params.o = static_cast<Element*>(launch.out);
  params.paged_kv = PagedView(launch);
  params.q_indptr = work + layout.q_indptr;
  params.num_qo_heads = launch.heads;
  params.group_size = fi::uint_fastdiv(1);
  params.q_stride_n = static_cast<int32_t>(launch.q_token_stride);
  params.q_stride_h = launch.head_dim;
  params.window_left = -1;
  params.sm_scale = launch.scale;
  params.rope_rcp_scale = 1.f;
  params.rope_rcp_theta = 1.f;
  params.request_indices = work + layout.request;
  params.qo_tile_indices = work + layout.q_tile;
  params.kv_tile_indices = work + layout.kv_tile;
  params.o_indptr = work + layout.o_indptr;
  params.kv_chunk_size_ptr = work + layout.chunk_tokens;
  params.padded_batch_size = layout.capacity;
  params.max_total_num_rows = layout.max_rows;
  if (launch.parts != nullptr) {
    params.merge_indptr = work + layout.merge_indptr;
    params.block_valid_mask = reinterpret_cast<bool*>(work + layout.valid);
    params.total_num_rows = reinterpret_cast<uint32_t*>(work + layout.total_rows);
  }
  return params;
}

template <int kHeadDim>
cudaError_t Dispatch(const Fa2Launch& launch, CudaStream stream) {
  return fi::BatchPrefillWithPagedKVCacheDispatched<
      kFa2TileQ, kHeadDim, kHeadDim, fi::PosEncodingMode::kNone, /*USE_FP16_QK_REDUCTION=*/false,
      fi::MaskMode::kNone, Variant, Params>(MakeParams(launch), static_cast<Element*>(launch.parts),
                                            launch.part_lse,
                                            /*enable_pdl=*/false, stream);
}

}  // namespace

void LaunchFa2(const Fa2Launch& launch, CudaStream stream) {
  try {
    const cudaError_t status =
        launch.head_dim == 64 ? Dispatch<64>(launch, stream) : Dispatch<128>(launch, stream);
    CheckCuda(status, "FlashInfer FA2 prefill");
  } catch (const fi::Error& error) {
    FailLibrary("FlashInfer FA2 prefill", error.what());
  }
}

}  // namespace lingbot::ops::cuda
