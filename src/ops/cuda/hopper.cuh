#ifndef LINGBOT_OPS_CUDA_HOPPER_CUH_
#define LINGBOT_OPS_CUDA_HOPPER_CUH_

// Thin wrappers of the PTX that only Hopper (sm_90a) has, and of the barriers that go with it. The
// PTX ISA manual's names are kept; its chapter "Asynchronous warpgroup level matrix instructions"
// defines the layouts named below. Usable only in code guarded by LINGBOT_HOPPER_DEVICE_CODE.

#include <cuda.h>

#include <cstdint>

// __CUDA_ARCH_FEAT_SM90_ALL: compiled for sm_90a, not for plain sm_90.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LINGBOT_HOPPER_DEVICE_CODE 1
#endif

namespace lingbot::ops::cuda::hopper {

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// One lane of a converged warp.
__device__ __forceinline__ bool ElectOne() {
  uint32_t elected = 0;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}\n"
               : "=r"(elected));
  return elected != 0;
}

// ---- mbarriers: `barrier` is an address in shared memory (SharedAddress) ----------------------

__device__ __forceinline__ void BarrierInit(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine; a __syncthreads() follows.
__device__ __forceinline__ void BarrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void BarrierArrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// One arrival, and `bytes` more that copies will bring.
__device__ __forceinline__ void BarrierArriveExpect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Whether the phase with this parity has completed; does not wait.
__device__ __forceinline__ bool BarrierTest(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Waits until the phase with this parity has completed.
__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- tensor copies ------------------------------------------------------------------------------

// Before the first use of a tensor map that was written to global memory since the launch of an
// earlier kernel.
__device__ __forceinline__ void AcquireTensorMap(const CUtensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

// Copies the box at (x, y, z) to shared memory; elements outside the tensor become zero.
__device__ __forceinline__ void TensorLoad(uint32_t destination, const CUtensorMap* map, int x,
                                           int y, int z, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

// ---- registers ----------------------------------------------------------------------------------

template <int kRegisters>
__device__ __forceinline__ void IncreaseRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void DecreaseRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- wgmma --------------------------------------------------------------------------------------

// Orders this warpgroup's register accesses before its next wgmma.
__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most kPending of the committed groups are in flight.
template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Stops the compiler from moving uses of an accumulator across a wait.
template <int kSize>
__device__ __forceinline__ void KeepOrder(float (&d)[kSize]) {
#pragma unroll
  for (int i = 0; i < kSize; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Describes an operand in shared memory with the 128-byte swizzle that tensor copies of 128-byte
// boxes write: groups of eight 128-byte rows, 1024 bytes each, aligned to 1024 bytes.
//   K-major (rows along n, 64 k in a row): `stride` lies between groups of 8 n; 16 k are 32 bytes.
//   MN-major (rows along k, 64 n in a row; transposed): `stride` lies between groups of 8 k,
//   `leading` between blocks of 64 n.
__device__ __forceinline__ uint64_t Descriptor(uint32_t address, uint32_t leading,
                                               uint32_t stride) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return kSwizzle128 | (uint64_t{stride >> 4} << 32) | (uint64_t{leading >> 4} << 16) |
         ((address >> 4) & 0x3fff);
}
// What to add to a descriptor to move its address by `bytes`.
__device__ __forceinline__ constexpr uint64_t DescriptorStep(uint32_t bytes) { return bytes >> 4; }

// d[64, kN] (+)= a[64, 16] * b[16, kN] for one warpgroup, bf16 in, float32 out; a in registers.
// Lane l of warp w holds, with g = l / 4 and t = l % 4:
//   d[4j], d[4j+1]: row 16w + g,     columns 8j + 2t and 8j + 2t + 1
//   d[4j+2], d[4j+3]: row 16w + g + 8, the same columns
//   a[0], a[1]: rows 16w + g and 16w + g + 8, columns 2t and 2t + 1; a[2], a[3]: columns 8 further
// so a pair of 8-column blocks of d, packed in order, is an a.
template <int kN>
struct Wgmma;

#define LINGBOT_R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define LINGBOT_R1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define LINGBOT_R2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define LINGBOT_R3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define LINGBOT_R4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define LINGBOT_R5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define LINGBOT_R6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define LINGBOT_R7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define LINGBOT_R_32 LINGBOT_R0 ", " LINGBOT_R1 ", " LINGBOT_R2 ", " LINGBOT_R3
#define LINGBOT_D4(b) "+f"(d[b]), "+f"(d[b + 1]), "+f"(d[b + 2]), "+f"(d[b + 3])
#define LINGBOT_D8(b) LINGBOT_D4(b), LINGBOT_D4(b + 4)
#define LINGBOT_D_32 LINGBOT_D8(0), LINGBOT_D8(8), LINGBOT_D8(16), LINGBOT_D8(24)

// After the register list: the numbers of the operands that follow the kN / 2 accumulators, then
// the accumulators' operands.
#define LINGBOT_WGMMA(n, registers, a0, a1, a2, a3, b0, accumulate, transpose, ...)             \
  template <>                                                                                   \
  struct Wgmma<n> {                                                                             \
    template <bool kAccumulate, bool kTransposed>                                               \
    static __device__ __forceinline__ void Run(float (&d)[n / 2], const uint32_t (&a)[4],       \
                                               uint64_t b) {                                    \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " accumulate                               \
                   ", 0;\n"                                                                     \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" registers       \
                   "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b0 ", p, 1, 1, " transpose ";\n}\n"  \
                   : __VA_ARGS__                                                                \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(int{kAccumulate}), \
                     "n"(int{kTransposed}));                                                    \
    }                                                                                           \
  };

LINGBOT_WGMMA(64, LINGBOT_R_32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", LINGBOT_D_32)
LINGBOT_WGMMA(72, LINGBOT_R_32 ", %32, %33, %34, %35", "%36", "%37", "%38", "%39", "%40", "%41",
              "%42", LINGBOT_D_32, LINGBOT_D4(32))
LINGBOT_WGMMA(80, LINGBOT_R_32 ", " LINGBOT_R4, "%40", "%41", "%42", "%43", "%44", "%45", "%46",
              LINGBOT_D_32, LINGBOT_D8(32))
LINGBOT_WGMMA(96, LINGBOT_R_32 ", " LINGBOT_R4 ", " LINGBOT_R5, "%48", "%49", "%50", "%51", "%52",
              "%53", "%54", LINGBOT_D_32, LINGBOT_D8(32), LINGBOT_D8(40))
LINGBOT_WGMMA(112, LINGBOT_R_32 ", " LINGBOT_R4 ", " LINGBOT_R5 ", " LINGBOT_R6, "%56", "%57",
              "%58", "%59", "%60", "%61", "%62", LINGBOT_D_32, LINGBOT_D8(32), LINGBOT_D8(40),
              LINGBOT_D8(48))
LINGBOT_WGMMA(128, LINGBOT_R_32 ", " LINGBOT_R4 ", " LINGBOT_R5 ", " LINGBOT_R6 ", " LINGBOT_R7,
              "%64", "%65", "%66", "%67", "%68", "%69", "%70", LINGBOT_D_32, LINGBOT_D8(32),
              LINGBOT_D8(40), LINGBOT_D8(48), LINGBOT_D8(56))

#undef LINGBOT_WGMMA
#undef LINGBOT_D_32
#undef LINGBOT_D8
#undef LINGBOT_D4
#undef LINGBOT_R_32
#undef LINGBOT_R7
#undef LINGBOT_R6
#undef LINGBOT_R5
#undef LINGBOT_R4
#undef LINGBOT_R3
#undef LINGBOT_R2
#undef LINGBOT_R1
#undef LINGBOT_R0

}  // namespace lingbot::ops::cuda::hopper

#endif  // LINGBOT_OPS_CUDA_HOPPER_CUH_
