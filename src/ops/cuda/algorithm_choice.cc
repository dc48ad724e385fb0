#include "ops/cuda/algorithm_choice.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ops/cuda/check.h"

namespace lingbot::ops::cuda {
namespace {

// Wide margins, so that noise does not make two processes choose differently.
constexpr float kWorthwhile = 0.92f;  // leave the library's first for a gain of 8 % only
constexpr float kTie = 1.04f;

// Milliseconds between two points of a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    CheckCuda(cudaEventCreate(&begin_), "cudaEventCreate");
    CheckCuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void Start() const { CheckCuda(cudaEventRecord(begin_, stream_), "cudaEventRecord"); }
  float Stop() const {
    CheckCuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
    CheckCuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0.0f;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

ScratchMemory::ScratchMemory(size_t bytes) { CheckCuda(cudaMalloc(&data_, bytes), "cudaMalloc"); }

ScratchMemory::~ScratchMemory() { cudaFree(data_); }

bool IsCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CheckCuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

size_t FastestOf(size_t count, const std::function<void(size_t)>& run, void* flush,
                 size_t flush_bytes, cudaStream_t stream) {
  if (count < 2) return 0;
  const Stopwatch stopwatch(stream);
  std::vector<float> times;
  for (size_t i = 0; i < count; ++i) {
    std::array<float, 7> repeats{};
    for (float& time : repeats) {
      CheckCuda(cudaMemsetAsync(flush, 0, flush_bytes, stream), "cudaMemsetAsync");
      stopwatch.Start();
      run(i);
      time = stopwatch.Stop();
    }
    std::sort(repeats.begin(), repeats.end());
    times.push_back(repeats[repeats.size() / 2]);
  }
  const float best = *std::min_element(times.begin(), times.end());
  if (best > kWorthwhile * times.front()) return 0;
  const auto chosen =
      std::find_if(times.begin(), times.end(), [best](float time) { return time <= best * kTie; });
  return static_cast<size_t>(chosen - times.begin());
}

}  // namespace lingbot::ops::cuda
