#ifndef LINGBOT_OPS_CUDA_ATTENTION_DENSE_WARPGROUP_CUH_
#define LINGBOT_OPS_CUDA_ATTENTION_DENSE_WARPGROUP_CUH_

#include "ops/cuda/attention_dense_work.cuh"
#include "ops/cuda/hopper.cuh"

#ifdef LINGBOT_HOPPER_DEVICE_CODE

// The consuming side of the kernel: shared memory's layout and a warpgroup's loop over K/V tiles.
namespace lingbot::ops::cuda::dense {

// A position in a ring of stages and the parity of its barriers.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void Advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Addresses in shared memory.
template <class C>
struct Shared {
  uint32_t k;
  uint32_t v;
  uint32_t ones;
  uint32_t barriers;

  __device__ __forceinline__ explicit Shared(const void* memory) {
    k = (hopper::SharedAddress(memory) + 1023) & ~1023u;
    v = k + C::kStages * C::kTileBytes;
    ones = v + C::kStages * C::kTileBytes;
    barriers = ones + C::kOnesBytes;
  }
  __device__ __forceinline__ uint32_t KFull(int stage) const { return barriers + 8 * stage; }
  __device__ __forceinline__ uint32_t VFull(int stage) const { return KFull(C::kStages + stage); }
  __device__ __forceinline__ uint32_t KFree(int stage) const {
    return KFull(2 * C::kStages + stage);
  }
  __device__ __forceinline__ uint32_t VFree(int stage) const {
    return KFull(3 * C::kStages + stage);
  }
};

__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ uint32_t PackBf16(float low, float high) {
  uint32_t packed;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
// Over the four lanes that hold a row.
__device__ __forceinline__ float RowMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}
__device__ __forceinline__ float RowSum(float x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// One warpgroup's 64 query rows; a thread holds rows `row` and `row + 8` of them.
//
// While it waits for P V, the other warpgroup has the special-function unit to itself; its own Q K
// runs under its exponentials. Tried on an H200 at 978 queries and 72,400 rows, slower by 2 to 20
// %: P V woven between the exponentials, its k-blocks one by one; P V and Q K of the neighbouring
// tiles woven in; P twice, so that nothing waits for P V; Q in shared memory; part of the
// exponentials on the multiply-add units; 64 to 96 or 128 rows a tile.
template <class C>
class Warpgroup {
  static constexpr int kBlocks = C::kKvTile / 16;       // k-blocks of P V
  static constexpr int kHeadBlocks = C::kHeadDim / 16;  // k-blocks of Q K
  using Scores = float[C::kKvTile / 2];
  using Probabilities = uint32_t[kBlocks][4];

 public:
  __device__ __forceinline__ Warpgroup(const Params& params, const Shared<C>& shared,
                                       const Tiles& tiles)
      : params_(params), shared_(shared), tiles_(tiles) {
    const int thread = threadIdx.x - 128;
    lane_ = threadIdx.x % 32;
    row_ = thread / 32 * 16 + lane_ / 4;
  }

  __device__ __forceinline__ void Run(const Segment& segment) {
    const WorkItem item(params_, segment.work);
    LoadQ(item);
    // Opaque zeros: the compiler would move plain ones below the first wgmma and then, seeing
    // accumulators written while wgmmas are in flight, serialise them all.
#pragma unroll
    for (int i = 0; i < C::kOutColumns / 2; ++i) {
      asm volatile("mov.f32 %0, 0f00000000;" : "=f"(out_[i]));
    }
    for (int r = 0; r < 2; ++r) {
      sum_[r] = old_sum_[r] = 0.0f;
      max_[r] = C::kRunningMax ? kLowest : 0.0f;
    }
    Loop(segment);
    Store(item, segment);
  }

 private:
  // Finite, so that differences of maxima are numbers.
  static constexpr float kLowest = -1e30f;

  __device__ __forceinline__ void LoadQ(const WorkItem& item) {
    const int t = lane_ % 4;
    const int token = item.q_begin + row_;
    const __nv_bfloat16* q = params_.q + item.batch * params_.q_batch_stride +
                             token * params_.q_token_stride + item.head * C::kHeadDim + 2 * t;
#pragma unroll
    for (int block = 0; block < kHeadBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = i % 2 * 8;
        const __nv_bfloat16* at = q + row * params_.q_token_stride + block * 16 + i / 2 * 8;
        q_[block][i] =
            token + row < params_.q_tokens ? __ldg(reinterpret_cast<const unsigned*>(at)) : 0;
      }
    }
  }

  // ---- products; k-block by k-block, not yet committed ----

  __device__ __forceinline__ void WaitK() {
    if (!k_ready_) hopper::BarrierWait(shared_.KFull(k_ring_.stage), k_ring_.parity);
    k_descriptor_ = hopper::Descriptor(shared_.k + k_ring_.stage * C::kTileBytes, 0, 1024);
    k_ring_.Advance();
    k_ready_ = hopper::BarrierTest(shared_.KFull(k_ring_.stage), k_ring_.parity);
  }
  __device__ __forceinline__ void WaitV() {
    if (!v_ready_) hopper::BarrierWait(shared_.VFull(v_ring_.stage), v_ring_.parity);
    v_address_ = shared_.v + v_ring_.stage * C::kTileBytes;
    v_descriptor_ = hopper::Descriptor(v_address_, C::kKvTile * 128, 1024);
    v_ring_.Advance();
    v_ready_ = hopper::BarrierTest(shared_.VFull(v_ring_.stage), v_ring_.parity);
  }
  __device__ __forceinline__ void FreeK() {
    if (lane_ == 0) hopper::BarrierArrive(shared_.KFree(k_free_.stage));
    k_free_.Advance();
  }
  __device__ __forceinline__ void FreeV() {
    if (lane_ == 0) hopper::BarrierArrive(shared_.VFree(v_free_.stage));
    v_free_.Advance();
  }

  template <int kBlock>
  __device__ __forceinline__ void MultiplyK(Scores& scores) {
    constexpr uint32_t kOffset = kBlock / 4 * C::kKvTile * 128 + kBlock % 4 * 32;
    hopper::Wgmma<C::kKvTile>::template Run<(kBlock > 0), false>(
        scores, q_[kBlock], k_descriptor_ + hopper::DescriptorStep(kOffset));
  }
  template <int kBlock>
  __device__ __forceinline__ void MultiplyV(const Probabilities& p) {
    uint64_t v = v_descriptor_ + hopper::DescriptorStep(kBlock * 2048);
    if constexpr (C::kSumByMma) {  // columns 64 to 71 are ones
      const uint32_t address = v_address_ + kBlock * 2048;
      v = hopper::Descriptor(address, shared_.ones - address, 1024);
    }
    hopper::Wgmma<C::kOutColumns>::template Run<true, true>(out_, p[kBlock], v);
  }

  template <int kBlock = 0>
  __device__ __forceinline__ void MultiplyAllK(Scores& scores) {
    MultiplyK<kBlock>(scores);
    if constexpr (kBlock + 1 < kHeadBlocks) MultiplyAllK<kBlock + 1>(scores);
  }
  template <int kBlock = 0>
  __device__ __forceinline__ void MultiplyAllV(const Probabilities& p) {
    MultiplyV<kBlock>(p);
    if constexpr (kBlock + 1 < kBlocks) MultiplyAllV<kBlock + 1>(p);
  }

  // ---- softmax ----

  __device__ __forceinline__ void Mask(Scores& scores, int tile) {
    const int valid = tiles_.LastRows(tile) - lane_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < C::kKvTile / 2; ++i) {
      if (i / 4 * 8 + i % 2 >= valid) scores[i] = -INFINITY;
    }
  }

  __device__ __forceinline__ void UpdateMax(const Scores& scores) {
    float tile_max[2] = {scores[0], scores[2]};
#pragma unroll
    for (int i = 0; i < C::kKvTile / 2; ++i) {
      tile_max[i / 2 % 2] = fmaxf(tile_max[i / 2 % 2], scores[i]);
    }
    float grown[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      grown[r] = fmaxf(max_[r], RowMax(tile_max[r]) * params_.scale_log2);
    }
    if (!__any_sync(0xffffffff, grown[0] > max_[0] || grown[1] > max_[1])) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float factor = Exp2(max_[r] - grown[r]);
      max_[r] = grown[r];
      sum_[r] *= factor;
#pragma unroll
      for (int i = 0; i < C::kOutColumns / 2; ++i) {
        if (i / 2 % 2 == r) out_[i] *= factor;
      }
    }
  }

  // Exponentials of 16 columns, added to the row sums and packed as an A operand. Left alone, ptxas
  // gathers all multiplications, exponentials, additions and conversions of a tile into one phase
  // each, so that a warp leaves the special-function unit idle half its time. `zero` (0, but only
  // the caller knows) times the sums of two blocks ago makes a block's arguments wait for them.
  template <int kBlock>
  __device__ __forceinline__ void ExpBlock(const Scores& scores, Probabilities& p) {
    float subtract[2] = {max_[0], max_[1]};
    if constexpr (C::kChain) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        subtract[r] = fmaf(params_.zero, old_sum_[r], max_[r]);
        old_sum_[r] = sum_[r];
      }
    }
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const int r = pair % 2;
      float e[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float score = scores[8 * kBlock + 2 * pair + c];
        if constexpr (C::kExponent == Exponent::kUnit) {
          e[c] = Exp2(score);
        } else if constexpr (C::kRunningMax || C::kChain) {
          e[c] = Exp2(fmaf(score, params_.scale_log2, -subtract[r]));
        } else {
          e[c] = Exp2(score * params_.scale_log2);
        }
      }
      if constexpr (!C::kSumByMma) sum_[r] += e[0] + e[1];
      p[kBlock][pair] = PackBf16(e[0], e[1]);
    }
  }
  template <int kBlock = 0>
  __device__ __forceinline__ void ExpAll(const Scores& scores, Probabilities& p) {
    ExpBlock<kBlock>(scores, p);
    if constexpr (kBlock + 1 < kBlocks) ExpAll<kBlock + 1>(scores, p);
  }

  // ---- the loop: P V of the last tile, Q K of the next, then the exponentials of this one ----

  __device__ __forceinline__ void Softmax(Scores& scores, Probabilities& p, int tile) {
    if (tiles_.IsLast(tile)) Mask(scores, tile);
    if constexpr (C::kRunningMax) UpdateMax(scores);
    ExpAll(scores, p);
  }

  template <bool kNext>
  __device__ __forceinline__ void Step(Scores& scores, Scores& next, Probabilities& p, int tile) {
    WaitV();
    hopper::WgmmaFence();
    MultiplyAllV(p);
    hopper::WgmmaCommit();
    if constexpr (kNext) {
      WaitK();
      hopper::WgmmaFence();
      MultiplyAllK(next);
      hopper::WgmmaCommit();
    }
    hopper::WgmmaWait<kNext ? 1 : 0>();
    hopper::KeepOrder(scores);
    hopper::KeepOrder(out_);
    FreeK();
    FreeV();
    Softmax(scores, p, tile);
  }

  __device__ __forceinline__ void Loop(const Segment& segment) {
    Scores even, odd;
    Probabilities p;
    WaitK();
    hopper::WgmmaFence();
    MultiplyAllK(even);
    hopper::WgmmaCommit();
    hopper::WgmmaWait<0>();
    hopper::KeepOrder(even);
    FreeK();
    Softmax(even, p, segment.begin);
    int tile = segment.begin + 1;
    if (tile < segment.end) {
      WaitK();
      hopper::WgmmaFence();
      MultiplyAllK(odd);
      hopper::WgmmaCommit();
#pragma unroll 1
      for (; tile + 2 < segment.end; tile += 2) {
        Step<true>(odd, even, p, tile);
        Step<true>(even, odd, p, tile + 1);
      }
      if (tile + 1 < segment.end) {
        Step<true>(odd, even, p, tile);
        Step<false>(even, odd, p, tile + 1);
      } else {
        Step<false>(odd, even, p, tile);
      }
    }
    WaitV();
    hopper::WgmmaFence();
    MultiplyAllV(p);
    hopper::WgmmaCommit();
    hopper::WgmmaWait<0>();
    hopper::KeepOrder(out_);
    FreeV();
  }

  // ---- results ----

  __device__ __forceinline__ void Store(const WorkItem& item, const Segment& segment) {
    float sum[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if constexpr (C::kSumByMma) {
        sum[r] = out_[C::kHeadDim / 2 + 2 * r];
      } else {
        sum[r] = RowSum(sum_[r]);
      }
    }
    if (params_.splits == 1) {
      StoreOutput(item, sum);
    } else {
      StorePart(segment, sum);
    }
  }

  __device__ __forceinline__ void StoreOutput(const WorkItem& item, const float (&sum)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int token = item.q_begin + row_ + 8 * r;
      if (token >= params_.q_tokens) continue;
      const float factor = 1.0f / sum[r];
      const int64_t row = static_cast<int64_t>(item.batch) * params_.q_tokens + token;
      uint32_t* out = reinterpret_cast<uint32_t*>(
          params_.out + (row * params_.heads + item.head) * C::kHeadDim + lane_ % 4 * 2);
#pragma unroll
      for (int j = 0; j < C::kHeadDim / 8; ++j) {
        out[4 * j] = PackBf16(out_[4 * j + 2 * r] * factor, out_[4 * j + 2 * r + 1] * factor);
      }
    }
  }

  __device__ __forceinline__ void StorePart(const Segment& segment, const float (&sum)[2]) {
    float* part =
        params_.parts + (static_cast<int64_t>(segment.work) * params_.splits + segment.share) *
                            PartFloats(C::kHeadDim);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = row_ + 8 * r;
      float2* out = reinterpret_cast<float2*>(part + row * C::kHeadDim + lane_ % 4 * 2);
#pragma unroll
      for (int j = 0; j < C::kHeadDim / 8; ++j) {
        out[4 * j] = make_float2(out_[4 * j + 2 * r], out_[4 * j + 2 * r + 1]);
      }
      if (lane_ % 4 == 0) {
        part[kQTile * C::kHeadDim + row] = sum[r];
        part[kQTile * (C::kHeadDim + 1) + row] = max_[r];
      }
    }
  }

  const Params& params_;
  const Shared<C>& shared_;
  const Tiles& tiles_;
  int lane_;
  int row_;
  uint32_t q_[kHeadBlocks][4];
  float out_[C::kOutColumns / 2];
  float sum_[2];
  float old_sum_[2];
  float max_[2];  // what is subtracted, in log2 units
  Ring<C::kStages> k_ring_, v_ring_, k_free_, v_free_;
  bool k_ready_ = false;
  bool v_ready_ = false;
  uint64_t k_descriptor_ = 0;
  uint32_t v_address_ = 0;
  uint64_t v_descriptor_ = 0;
};

}  // namespace lingbot::ops::cuda::dense

#endif  // LINGBOT_HOPPER_DEVICE_CODE

#endif  // LINGBOT_OPS_CUDA_ATTENTION_DENSE_WARPGROUP_CUH_
