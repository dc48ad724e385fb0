#ifndef LINGBOT_OPS_CUDA_TEST_UTIL_H_
#define LINGBOT_OPS_CUDA_TEST_UTIL_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/cuda/device_array.h"

// What the checks of CUDA launchers share.
namespace lingbot::ops::cuda {

// |a - b| / |b|; NaN if any element is, infinity if the sizes differ.
inline double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0.0, norm = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

// What one rounding to the type leaves of values that are right: half of a unit in the last place,
// in the mean over a binade about 0.3 of it, with some room; float32 sums have their own error.
inline double Tolerance(DType dtype) {
  if (dtype == DType::kBF16) return 3.5e-3;
  if (dtype == DType::kF16) return 5e-4;
  return 2e-6;
}

// Skips where there is no device.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(status);
    }
    CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_TEST_UTIL_H_
