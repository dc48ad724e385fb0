#ifndef LINGBOT_OPS_CUDA_STAGED_INTS_H_
#define LINGBOT_OPS_CUDA_STAGED_INTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/cuda/attention_paged.h"

struct CUevent_st;

namespace lingbot::ops::cuda {

// A fixed block of int32 in device memory that the host rewrites between launches. The copy reads
// pinned memory some time after Upload() has returned, so there are two pinned blocks, and Host()
// waits for the copy that used the one it hands out.
class StagedInts {
 public:
  explicit StagedInts(size_t count);  // on the current device
  ~StagedInts();
  StagedInts(const StagedInts&) = delete;
  StagedInts& operator=(const StagedInts&) = delete;

  std::span<int32_t> Host();       // to be filled; zero at first, later with old contents
  void Upload(CudaStream stream);  // not inside a graph capture: the next fill goes elsewhere
  void UploadNow();                // for contents that never change: copies and waits
  int32_t* device() const { return device_; }

 private:
  struct Slot {
    int32_t* pinned = nullptr;
    CUevent_st* copied = nullptr;
    bool in_flight = false;
  };
  void Release();

  size_t count_;
  int32_t* device_ = nullptr;
  std::array<Slot, 2> slots_;
  int current_ = 0;
};

int MultiprocessorCount();  // of the current device
// 90 for compute capability 9.0.
int ComputeCapability();

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_STAGED_INTS_H_
