#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/system_memory.h"
#include "tensor/device_memory.h"

namespace lingbot {
namespace {

void CheckCall(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  Fail(ErrorCode::kInternal, "the GPU reported an error in {}: {} ({})", call,
       cudaGetErrorString(status), cudaGetErrorName(status));
}

[[noreturn]] void FailAllocation(const char* what, size_t bytes) {
  size_t free = 0, total = 0;
  cudaGetLastError();
  cudaMemGetInfo(&free, &total);
  Fail(ErrorCode::kOutOfMemory,
       "{} {} could not be had; {} of the GPU's {} are free: use a smaller window or image size, "
       "or free memory that other programs hold",
       FormatBytes(bytes), what, FormatBytes(free), FormatBytes(total));
}

// A driver function by name: the program then starts, and can say what is missing, where no driver
// is installed.
template <typename Function>
Function* DriverFunction(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  Check(status == cudaSuccess && found == cudaDriverEntryPointSuccess && function != nullptr,
        ErrorCode::kUnavailable, "the NVIDIA driver has no {}; a newer driver is needed", name);
  return reinterpret_cast<Function*>(function);
}

// The driver's virtual memory management.
struct VirtualMemory {
  decltype(cuMemAddressReserve)* reserve;
  decltype(cuMemAddressFree)* free_addresses;
  decltype(cuMemCreate)* create;
  decltype(cuMemRelease)* release;
  decltype(cuMemMap)* map;
  decltype(cuMemUnmap)* unmap;
  decltype(cuMemSetAccess)* set_access;
  decltype(cuMemGetAllocationGranularity)* granularity;
};

const VirtualMemory& Driver() {
  static const VirtualMemory driver{
      DriverFunction<decltype(cuMemAddressReserve)>("cuMemAddressReserve"),
      DriverFunction<decltype(cuMemAddressFree)>("cuMemAddressFree"),
      DriverFunction<decltype(cuMemCreate)>("cuMemCreate"),
      DriverFunction<decltype(cuMemRelease)>("cuMemRelease"),
      DriverFunction<decltype(cuMemMap)>("cuMemMap"),
      DriverFunction<decltype(cuMemUnmap)>("cuMemUnmap"),
      DriverFunction<decltype(cuMemSetAccess)>("cuMemSetAccess"),
      DriverFunction<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity")};
  return driver;
}

CUmemAllocationProp PropertiesOfCurrent() {
  int ordinal = 0;
  CheckCall(cudaGetDevice(&ordinal), "cudaGetDevice");
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

bool CanReserveAddresses() {
  int ordinal = 0, supported = 0;
  CheckCall(cudaGetDevice(&ordinal), "cudaGetDevice");
  CUresult status = CUDA_ERROR_UNKNOWN;
  static const auto query = DriverFunction<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  status = query(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, ordinal);
  return status == CUDA_SUCCESS && supported != 0;
}

}  // namespace

std::vector<CudaDeviceInfo> CudaDevices(std::string* reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  std::vector<CudaDeviceInfo> devices;
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    if (reason != nullptr) {
      *reason = status == cudaErrorInsufficientDriver
                    ? "no NVIDIA driver, or one older than this build's CUDA, is installed; "
                      "update the driver or use --device cpu"
                    : fmt::format("no NVIDIA GPU was found ({}); use --device cpu",
                                  status == cudaSuccess ? "none is visible to this process"
                                                        : cudaGetErrorString(status));
    }
    return devices;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) continue;
    devices.push_back({ordinal, properties.name, properties.major, properties.minor,
                       properties.multiProcessorCount, properties.totalGlobalMem});
  }
  return devices;
}

void UseCudaDevice(int ordinal) {
  const cudaError_t status = cudaSetDevice(ordinal);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  std::string reason;
  const std::vector<CudaDeviceInfo> devices = CudaDevices(&reason);
  if (devices.empty()) Fail(ErrorCode::kUnavailable, "{}", reason);
  Fail(ErrorCode::kUnavailable, "GPU {} cannot be used: {}; this machine has {} (0 to {})", ordinal,
       cudaGetErrorString(status), devices.size(), devices.size() - 1);
}

void SpareCudaStack() {
  // Whatever kernels turn out to need is added when they are first launched.
  CheckCall(cudaDeviceSetLimit(cudaLimitStackSize, 0), "cudaDeviceSetLimit");
}

uint64_t FreeCudaMemory() {
  size_t free = 0, total = 0;
  CheckCall(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

uint64_t TotalCudaMemory() {
  size_t free = 0, total = 0;
  CheckCall(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return total;
}

void* AllocateCuda(size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, std::max<size_t>(bytes, 1)) != cudaSuccess) {
    FailAllocation("of GPU memory", bytes);
  }
  return memory;
}

void FreeCuda(void* memory) noexcept {
  if (memory != nullptr) cudaFree(memory);
}

void* AllocatePinned(size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocHost(&memory, std::max<size_t>(bytes, 1)) != cudaSuccess) {
    FailAllocation("of page-locked host memory", bytes);
  }
  return memory;
}

void FreePinned(void* memory) noexcept {
  if (memory != nullptr) cudaFreeHost(memory);
}

void CopyToCuda(void* target, const void* source, size_t bytes) {
  CheckCall(cudaMemcpy(target, source, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
}

void CopyFromCuda(void* target, const void* source, size_t bytes) {
  CheckCall(cudaMemcpy(target, source, bytes, cudaMemcpyDefault), "cudaMemcpy from the GPU");
}

size_t CudaLazyMemory::Granule() {
  if (!CanReserveAddresses()) return 1;
  const CUmemAllocationProp properties = PropertiesOfCurrent();
  size_t granule = 0;
  Check(Driver().granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) ==
            CUDA_SUCCESS,
        ErrorCode::kInternal, "the GPU does not tell its page size");
  return granule;
}

CudaLazyMemory::CudaLazyMemory(size_t bytes) {
  if (!CanReserveAddresses()) {
    data_ = static_cast<std::byte*>(AllocateCuda(bytes));
    size_ = bytes;
    return;
  }
  granularity_ = Granule();
  const size_t rounded =
      std::max<size_t>(1, (bytes + granularity_ - 1) / granularity_) * granularity_;
  CUdeviceptr address = 0;
  if (Driver().reserve(&address, rounded, granularity_, 0, 0) != CUDA_SUCCESS) {
    FailAllocation("of GPU addresses", rounded);
  }
  data_ = reinterpret_cast<std::byte*>(address);
  size_ = rounded;
  chunks_.resize(rounded / granularity_);
}

void CudaLazyMemory::Map(size_t offset, size_t length) {
  if (granularity_ == 0 || length == 0) return;
  Check(offset <= size_ && length <= size_ - offset, ErrorCode::kInternal,
        "GPU memory [{}, +{}) was asked for in a range of {} bytes", offset, length, size_);
  CUmemAllocationProp properties = PropertiesOfCurrent();
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  for (size_t i = offset / granularity_; i <= (offset + length - 1) / granularity_; ++i) {
    if (chunks_[i] != 0) continue;
    CUmemGenericAllocationHandle handle = 0;
    if (Driver().create(&handle, granularity_, &properties, 0) != CUDA_SUCCESS) {
      FailAllocation("of GPU memory for the key-value cache", granularity_);
    }
    const CUdeviceptr address = reinterpret_cast<CUdeviceptr>(data_ + i * granularity_);
    if (Driver().map(address, granularity_, 0, handle, 0) != CUDA_SUCCESS ||
        Driver().set_access(address, granularity_, &access, 1) != CUDA_SUCCESS) {
      Driver().unmap(address, granularity_);
      Driver().release(handle);
      FailAllocation("of GPU memory for the key-value cache", granularity_);
    }
    chunks_[i] = handle;
  }
}

size_t CudaLazyMemory::mapped_bytes() const {
  if (granularity_ == 0) return size_;
  return granularity_ * static_cast<size_t>(std::count_if(chunks_.begin(), chunks_.end(),
                                                          [](uint64_t h) { return h != 0; }));
}

void CudaLazyMemory::Release() noexcept {
  if (data_ == nullptr) return;
  if (granularity_ == 0) {
    FreeCuda(data_);
  } else {
    cudaDeviceSynchronize();
    const CUdeviceptr base = reinterpret_cast<CUdeviceptr>(data_);
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (chunks_[i] == 0) continue;
      Driver().unmap(base + i * granularity_, granularity_);
      Driver().release(chunks_[i]);
    }
    Driver().free_addresses(base, size_);
  }
  data_ = nullptr;
}

CudaLazyMemory::~CudaLazyMemory() { Release(); }

CudaLazyMemory::CudaLazyMemory(CudaLazyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      granularity_(std::exchange(other.granularity_, 0)),
      chunks_(std::move(other.chunks_)) {}

CudaLazyMemory& CudaLazyMemory::operator=(CudaLazyMemory&& other) noexcept {
  if (this != &other) {
    Release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    granularity_ = std::exchange(other.granularity_, 0);
    chunks_ = std::move(other.chunks_);
  }
  return *this;
}

}  // namespace lingbot
