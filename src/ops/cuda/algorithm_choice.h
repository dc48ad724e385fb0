#ifndef LINGBOT_OPS_CUDA_ALGORITHM_CHOICE_H_
#define LINGBOT_OPS_CUDA_ALGORITHM_CHOICE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace lingbot::ops::cuda {

// How plans pick among the algorithms that a library offers for a shape.
enum class AlgorithmChoice {
  kHeuristic,  // the library's first: the same bits in every process
  kMeasured,   // the fastest of the first few, timed at a shape's first use outside a capture (some
              // milliseconds each); the same bits within these plans' life. Measured on an H200: 17
              // % faster for the product 978x4096->1024, 27 % for 15552x256->256 and for the 3x3
              // convolution 256->128 at 216x288; most others gain nothing
};

// Scratch memory that lives as long as the object.
class ScratchMemory {
 public:
  explicit ScratchMemory(size_t bytes);
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

bool IsCapturing(cudaStream_t stream);

// Index of the fastest of `count` candidates, each timed by the median of several runs: the first
// one unless another is clearly faster, the earliest of those that are about as fast as the
// fastest. `flush` is overwritten before every run: that pushes the operands out of the cache, as
// the rest of a frame does. Synchronises; not during a capture.
size_t FastestOf(size_t count, const std::function<void(size_t)>& run, void* flush,
                 size_t flush_bytes, cudaStream_t stream);

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ALGORITHM_CHOICE_H_
