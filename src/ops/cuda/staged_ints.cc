#include "ops/cuda/staged_ints.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "ops/cuda/check.h"
#include "ops/cuda/device_bytes.h"

namespace lingbot::ops::cuda {
namespace {

int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

StagedInts::StagedInts(size_t count) : count_(count) {
  const size_t bytes = count * sizeof(int32_t);
  try {
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&device_), bytes), "cudaMalloc");
    for (Slot& slot : slots_) {
      CheckCuda(cudaMallocHost(reinterpret_cast<void**>(&slot.pinned), bytes), "cudaMallocHost");
      std::memset(slot.pinned, 0, bytes);
      CheckCuda(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming),
                "cudaEventCreateWithFlags");
    }
  } catch (...) {
    Release();
    throw;
  }
}

StagedInts::~StagedInts() { Release(); }

void StagedInts::Release() {
  for (Slot& slot : slots_) {
    if (slot.in_flight) {
      cudaEventSynchronize(slot.copied);
    }
    if (slot.copied != nullptr) {
      cudaEventDestroy(slot.copied);
    }
    cudaFreeHost(slot.pinned);
    slot = {};
  }
  cudaFree(device_);
  device_ = nullptr;
}

std::span<int32_t> StagedInts::Host() {
  Slot& slot = slots_[current_];
  if (slot.in_flight) {
    CheckCuda(cudaEventSynchronize(slot.copied), "cudaEventSynchronize");
    slot.in_flight = false;
  }
  return {slot.pinned, count_};
}

void StagedInts::Upload(CudaStream stream) {
  Slot& slot = slots_[current_];
  CheckCuda(cudaMemcpyAsync(device_, slot.pinned, count_ * sizeof(int32_t), cudaMemcpyHostToDevice,
                            stream),
            "cudaMemcpyAsync");
  CheckCuda(cudaEventRecord(slot.copied, stream), "cudaEventRecord");
  slot.in_flight = true;
  current_ = 1 - current_;
}

void StagedInts::UploadNow() {
  CheckCuda(cudaMemcpy(device_, slots_[current_].pinned, count_ * sizeof(int32_t),
                       cudaMemcpyHostToDevice),
            "cudaMemcpy");
}

DeviceBytes::DeviceBytes(size_t bytes) { CheckCuda(cudaMalloc(&data_, bytes), "cudaMalloc"); }

DeviceBytes::~DeviceBytes() { cudaFree(data_); }

int MultiprocessorCount() { return DeviceAttribute(cudaDevAttrMultiProcessorCount); }

int ComputeCapability() {
  return DeviceAttribute(cudaDevAttrComputeCapabilityMajor) * 10 +
         DeviceAttribute(cudaDevAttrComputeCapabilityMinor);
}

}  // namespace lingbot::ops::cuda
