#include "base/check.h"
#include "tensor/device_memory.h"

// The twin of device_memory_cuda.cc for builds without CUDA.
namespace lingbot {
namespace {

constexpr char kReason[] =
    "this build has no CUDA support; configure with -DLINGBOT_CUDA=ON where the CUDA toolkit is "
    "installed, or use --device cpu";

}  // namespace

std::vector<CudaDeviceInfo> CudaDevices(std::string* reason) {
  if (reason != nullptr) *reason = kReason;
  return {};
}

void UseCudaDevice(int) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void SpareCudaStack() { Fail(ErrorCode::kUnavailable, "{}", kReason); }
uint64_t FreeCudaMemory() { Fail(ErrorCode::kUnavailable, "{}", kReason); }
uint64_t TotalCudaMemory() { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void* AllocateCuda(size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void FreeCuda(void*) noexcept {}
void* AllocatePinned(size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void FreePinned(void*) noexcept {}
void CopyToCuda(void*, const void*, size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void CopyFromCuda(void*, const void*, size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }

CudaLazyMemory::CudaLazyMemory(size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
CudaLazyMemory::~CudaLazyMemory() = default;
CudaLazyMemory::CudaLazyMemory(CudaLazyMemory&&) noexcept = default;
CudaLazyMemory& CudaLazyMemory::operator=(CudaLazyMemory&&) noexcept = default;
size_t CudaLazyMemory::Granule() { Fail(ErrorCode::kUnavailable, "{}", kReason); }
void CudaLazyMemory::Map(size_t, size_t) { Fail(ErrorCode::kUnavailable, "{}", kReason); }
size_t CudaLazyMemory::mapped_bytes() const { return 0; }

}  // namespace lingbot
