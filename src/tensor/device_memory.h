#ifndef LINGBOT_TENSOR_DEVICE_MEMORY_H_
#define LINGBOT_TENSOR_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lingbot {

// Memory of a CUDA GPU. In a build without CUDA every function but CudaDevices throws kUnavailable.
// All work on the calling thread's current GPU, see UseCudaDevice.

struct CudaDeviceInfo {
  int ordinal = 0;
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  uint64_t total_bytes = 0;
};

// The GPUs that can be used. If there is none, *reason (if not null) says why: no CUDA in this
// build, no driver, no device.
std::vector<CudaDeviceInfo> CudaDevices(std::string* reason = nullptr);

// Makes a GPU the calling thread's current one. Throws kUnavailable if there is no such GPU, saying
// why.
void UseCudaDevice(int ordinal);

// Gives back the stack that CUDA keeps for every thread that the current GPU could run at a time,
// as far as kernels do not need it (an H200: 0.28 GB). A setting of the GPU for the whole process.
void SpareCudaStack();

// Bytes of the current GPU that can still be allocated, and all it has.
uint64_t FreeCudaMemory();
uint64_t TotalCudaMemory();

// Throw kOutOfMemory with the sizes involved. Freeing null does nothing.
void* AllocateCuda(size_t bytes);
void FreeCuda(void* memory) noexcept;

// Host memory that the GPU copies from and to without staging.
void* AllocatePinned(size_t bytes);
void FreePinned(void* memory) noexcept;

// Complete when they return.
void CopyToCuda(void* target, const void* source, size_t bytes);
void CopyFromCuda(void* target, const void* source, size_t bytes);

// Address space of the current GPU that costs memory only where Map has been called: the GPU's twin
// of LazyMemory. Where the GPU cannot reserve addresses alone, all of it is allocated at once.
class CudaLazyMemory {
 public:
  CudaLazyMemory() = default;
  explicit CudaLazyMemory(size_t bytes);  // throws kOutOfMemory
  ~CudaLazyMemory();
  CudaLazyMemory(CudaLazyMemory&& other) noexcept;
  CudaLazyMemory& operator=(CudaLazyMemory&& other) noexcept;
  CudaLazyMemory(const CudaLazyMemory&) = delete;
  CudaLazyMemory& operator=(const CudaLazyMemory&) = delete;

  // Bytes that the current GPU maps at a time; 1 where it allocates all at once.
  static size_t Granule();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Makes [offset, offset + length) usable; what is usable stays so. Throws kOutOfMemory, and then
  // nothing is lost.
  void Map(size_t offset, size_t length);
  size_t mapped_bytes() const;  // memory spent

 private:
  void Release() noexcept;

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t granularity_ = 0;        // 0: allocated at once
  std::vector<uint64_t> chunks_;  // handle of each granule, 0 where none is mapped
};

}  // namespace lingbot

#endif  // LINGBOT_TENSOR_DEVICE_MEMORY_H_
