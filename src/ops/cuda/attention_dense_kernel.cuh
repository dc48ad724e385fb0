#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_KERNEL_CUH_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_KERNEL_CUH_

#include "ops/cuda/attention_dense_warpgroup.cuh"
#include "ops/cuda/attention_dense_work.cuh"
#include "ops/cuda/check.h"
#include "ops/cuda/hopper.cuh"

// The kernel behind attention_dense.h: one producer warp copies K and V tiles with the tensor copy
// engine, two warpgroups of 64 query rows each multiply with wgmma. Everything but K and V stays in
// registers: Q as A operands, scores, probabilities, the output.
namespace lingbot::ops::cuda::dense {

#ifdef LINGBOT_HOPPER_DEVICE_CODE

template <class C>
__device__ void InitShared(const Shared<C>& shared) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < C::kStages; ++stage) {
      hopper::BarrierInit(shared.KFull(stage), 1);
      hopper::BarrierInit(shared.VFull(stage), 1);
      hopper::BarrierInit(shared.KFree(stage), 4 * kWarpgroups);  // every warp reports
      hopper::BarrierInit(shared.VFree(stage), 4 * kWarpgroups);
    }
    hopper::BarrierInitFence();
  }
  if constexpr (C::kSumByMma) {
    constexpr uint32_t kTwoOnes = 0x3f803f80;
    for (uint32_t i = 4 * threadIdx.x; i < C::kOnesBytes; i += 4 * kThreads) {
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared.ones + i), "r"(kTwoOnes) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
}

// ---- producer -----------------------------------------------------------------------------------

template <class C>
__device__ __forceinline__ void LoadTile(uint32_t destination, const CUtensorMap* map, int head,
                                         int row, int batch, uint32_t barrier) {
  hopper::BarrierArriveExpect(barrier, C::kTileBytes);
#pragma unroll
  for (int half = 0; half < C::kHeadDim / 64; ++half) {
    hopper::TensorLoad(destination + half * C::kKvTile * 128, map, head * C::kHeadDim + half * 64,
                       row, batch, barrier);
  }
}

template <class C>
__device__ __forceinline__ void Produce(const Params& params, const DenseExtents& extents,
                                        const Shared<C>& shared) {
  if (params.device_extents != nullptr) {
    for (int i = 0; i < 2; ++i) {
      hopper::AcquireTensorMap(&extents.k[i]);
      hopper::AcquireTensorMap(&extents.v[i]);
    }
  }
  const Tiles tiles(extents.rows, C::kKvTile);
  Ring<C::kStages> k_ring, v_ring;
  k_ring.parity = v_ring.parity = 1;  // the first round finds every stage free
  ForEachSegment(params, tiles.count, [&](const Segment& segment) {
    const WorkItem item(params, segment.work);
    auto load_k = [&](int tile) {
      hopper::BarrierWait(shared.KFree(k_ring.stage), k_ring.parity);
      LoadTile<C>(shared.k + k_ring.stage * C::kTileBytes, &extents.k[tiles.Extent(tile)],
                  item.head, tiles.Row(tile), item.batch, shared.KFull(k_ring.stage));
      k_ring.Advance();
    };
    load_k(segment.begin);
#pragma unroll 1
    for (int tile = segment.begin; tile < segment.end; ++tile) {
      if (tile + 1 < segment.end) load_k(tile + 1);
      hopper::BarrierWait(shared.VFree(v_ring.stage), v_ring.parity);
      LoadTile<C>(shared.v + v_ring.stage * C::kTileBytes, &extents.v[tiles.Extent(tile)],
                  item.head, tiles.Row(tile), item.batch, shared.VFull(v_ring.stage));
      v_ring.Advance();
    }
  });
}

#endif  // LINGBOT_HOPPER_DEVICE_CODE

template <class C>
__global__ void __launch_bounds__(kThreads, 1) Kernel(const __grid_constant__ Params params) {
#ifdef LINGBOT_HOPPER_DEVICE_CODE
  extern __shared__ char memory[];
  const Shared<C> shared(memory);
  InitShared<C>(shared);
  const DenseExtents& extents =
      params.device_extents != nullptr ? *params.device_extents : params.extents;
  // 168 registers a thread at launch; 128 * 24 + 256 * 240 of the 65,536 after this.
  if (threadIdx.x < 128) {
    hopper::DecreaseRegisters<24>();
    if (threadIdx.x < 32 && hopper::ElectOne()) Produce<C>(params, extents, shared);
  } else {
    hopper::IncreaseRegisters<240>();
    const Tiles tiles(extents.rows, C::kKvTile);
    Warpgroup<C> warpgroup(params, shared, tiles);
    ForEachSegment(params, tiles.count, [&](const Segment& segment) { warpgroup.Run(segment); });
  }
#else
  __trap();
#endif
}

template <class C>
void Launch(const Params& params, int ctas, cudaStream_t stream) {
  CheckCuda(
      cudaFuncSetAttribute(Kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes),
      "cudaFuncSetAttribute of the dense attention kernel");
  Kernel<C><<<ctas, kThreads, C::kSharedBytes, stream>>>(params);
  CheckLaunch("dense attention");
}

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_KERNEL_CUH_
