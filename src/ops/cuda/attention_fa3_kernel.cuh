#ifndef LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNEL_CUH_
#define LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNEL_CUH_

// cutlass_utils.cuh pulls in GEMM and host utilities that attention does not use (10 s of compile
// time, and a part of CUTLASS that is not unpacked); its guard keeps it out.
#define FLASHINFER_CUTLASS_UTILS_CUH_
#include <cute/tensor.hpp>

#include <flashinfer/attention/mask.cuh>

#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>

#include "ops/cuda/attention_fa3_kernels.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {

// Writes a work item's result straight from the accumulators: bf16 rows, or the float32 part of a
// KV segment with its log-sum-exp.
//
// It replaces FlashInfer's own epilogue, which stages the tile in the shared memory of V: there all
// warpgroups arrive at a barrier and then synchronise on the same one, so that a single warpgroup
// completes the phase by itself and may copy rows that another has not written yet (version 0.6.18;
// wrong results were seen as soon as a block had two work items). Without the staging there is
// nothing to wait for: V's buffers are guarded by their own pipeline.
template <typename Traits>
struct RegisterEpilogue {
  using TileShape = cute::Shape<cute::Int<Traits::CTA_Q>, cute::Int<Traits::HEAD_DIM_VO>>;

  struct Params {
    __nv_bfloat16* out;
    float* parts;
    float* part_lse;
    int64_t part_rows;  // rows of one part
    int heads;
  };

  CUTLASS_DEVICE static void prefetch_tma_descriptors(Params const&) {}
  CUTLASS_DEVICE void store_tail() {}

  template <typename BlockCoord, typename SharedStorage, typename Accumulators, typename RowLse,
            typename TiledMma>
  CUTLASS_DEVICE void store(Params const& params, Accumulators const& accumulators,
                            RowLse const& row_lse, SharedStorage&, TiledMma mma, int thread,
                            BlockCoord const& coord) {
    using namespace cute;
    auto [q_tile, head, kv_head, q_begin, page_begin, q_len, kv_len, segment] = coord;
    const int rows_left = q_len - q_tile * Traits::CTA_Q;
    const int64_t first_row = q_begin + static_cast<int64_t>(q_tile) * Traits::CTA_Q;
    Tensor positions = mma.get_thread_slice(thread).partition_C(
        make_identity_tensor(TileShape{}));  // ((2, 2, V), MMA_M, MMA_K) -> (row, channel)
    static_assert(decltype(size(positions))::value == decltype(size(accumulators))::value);
    const int64_t part_row = segment * params.part_rows + first_row;
#pragma unroll
    for (int i = 0; i < size(accumulators); i += 2) {  // neighbouring channels
      const int row = get<0>(positions(i));
      if (row < rows_left) {
        const int channel = get<1>(positions(i));
        WritePair(params, part_row + row, first_row + row, head, channel, accumulators(i),
                  accumulators(i + 1));
      }
    }
    if (params.parts != nullptr) {
      Tensor rows = positions(make_coord(_0{}, _, _0{}), _, _0{});
      static_assert(decltype(size(rows))::value == decltype(size(row_lse))::value);
#pragma unroll
      for (int i = 0; i < size(row_lse); ++i) {
        const int row = get<0>(rows(i));
        if (get<1>(rows(i)) == 0 && row < rows_left) {
          params.part_lse[(part_row + row) * params.heads + head] = row_lse(i);
        }
      }
    }
  }

  // Never reached: no segment is empty. The kernel asks for it all the same.
  template <typename BlockCoord, typename SharedStorage>
  CUTLASS_DEVICE void store_zero(Params const&, SharedStorage&, int, BlockCoord const&) {}

 private:
  CUTLASS_DEVICE static void WritePair(Params const& params, int64_t part_row, int64_t out_row,
                                       int head, int channel, float a, float b) {
    const int64_t column = static_cast<int64_t>(head) * Traits::HEAD_DIM_VO + channel;
    const int64_t stride = static_cast<int64_t>(params.heads) * Traits::HEAD_DIM_VO;
    if (params.parts != nullptr) {
      *reinterpret_cast<float2*>(params.parts + part_row * stride + column) = make_float2(a, b);
    } else {
      *reinterpret_cast<__nv_bfloat162*>(params.out + out_row * stride + column) =
          __floats2bfloat162_rn(a, b);
    }
  }
};

struct Fa3AdditionalParams {
  float sm_scale;  // all that FlashInfer's StandardAttention reads
};

template <int kHeadDim>
struct Fa3Kernel {
  using Element = cutlass::bfloat16_t;
  static constexpr Fa3Tile kTile = Fa3TileFor(kHeadDim);
  static_assert(kTile.kv <= 128, "the paged loader keeps one row offset in each of 128 threads");
  using Traits =
      flashinfer::AttentionKernelTraits</*USE_TMA_LOAD_KV=*/false, kHeadDim, kHeadDim, kTile.q,
                                        kTile.kv, kTile.stages, Element, Element, Element, int32_t,
                                        flashinfer::StandardAttention>;
  using Mainloop =
      flashinfer::SparseCollectiveMainloop<Fa3AdditionalParams, Traits, /*CAUSAL=*/false>;
  using Epilogue = RegisterEpilogue<Traits>;
  using Scheduler = flashinfer::BatchPrefillPersistentTileScheduler<int32_t>;

  static typename Mainloop::Params MainloopParams(const Fa3Launch& launch) {
    using flashinfer::get_gmem_layout;
    const PagedKv& kv = launch.kv;
    const auto kv_layout = get_gmem_layout(0, launch.heads, kHeadDim, kv.token_stride, kHeadDim);
    return Mainloop::to_underlying_arguments(
        {static_cast<const Element*>(launch.q),
         get_gmem_layout(launch.q_rows, launch.heads, kHeadDim, launch.q_token_stride, kHeadDim),
         static_cast<const Element*>(kv.k), kv_layout, static_cast<const Element*>(kv.v), kv_layout,
         kv.pages, /*window_left=*/-1, kv.page_stride, kv.page_stride,
         static_cast<uint32_t>(launch.page_size), Fa3AdditionalParams{launch.scale}});
  }

  static typename Scheduler::Params SchedulerParams(const Fa3Launch& launch) {
    const Fa3Layout& at = launch.layout;
    int32_t* work = launch.work;
    // The segment travels as the batch index, which the kernel hands to the epilogue only.
    return Scheduler::to_underlying_arguments(
        {work + at.block_begin, work + at.head, work + at.q_tile, work + at.q_begin,
         work + at.page_begin, work + at.q_len, work + at.kv_len, work + at.segment,
         cutlass::FastDivmod(1), launch.heads});
  }

  static void Launch(const Fa3Launch& launch, CudaStream stream) {
    auto mainloop = MainloopParams(launch);
    auto scheduler = SchedulerParams(launch);
    typename Epilogue::Params epilogue{static_cast<__nv_bfloat16*>(launch.out), launch.parts,
                                       launch.part_lse, launch.q_rows, launch.heads};
    const auto kernel = reinterpret_cast<const void*>(
        &flashinfer::PrefillWithKVCacheKernel<Mainloop, Epilogue, Traits,
                                              /*LEFT_SLIDING_WINDOW=*/false, /*CAUSAL=*/false,
                                              Scheduler>);
    const int shared_bytes = sizeof(typename Traits::SharedStorage);
    CheckCuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute (FlashInfer FA3)");
    void* arguments[] = {&mainloop, &epilogue, &scheduler};
    CheckCuda(cudaLaunchKernel(kernel, dim3(launch.layout.blocks), dim3(Traits::NUM_THREADS),
                               arguments, shared_bytes, stream),
              "cudaLaunchKernel (FlashInfer FA3)");
  }
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_FA3_KERNEL_CUH_
