#ifndef LINGBOT_OPS_CUDA_DEVICE_ARRAY_H_
#define LINGBOT_OPS_CUDA_DEVICE_ARRAY_H_

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "ops/cuda/check.h"

// Random values and device memory for checks and measurements.
namespace lingbot::ops::cuda {

// Uniform in [-1, 1), the same on every machine.
inline std::vector<float> Random(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = static_cast<float>(static_cast<int32_t>(generator())) * 0x1p-31f;
  return values;
}

inline float Rounded(float value, DType dtype) {
  if (dtype == DType::kBF16) return ToFloat(ToBFloat16(value));
  if (dtype == DType::kF16) return __half2float(__float2half_rn(value));
  return value;
}

inline std::vector<float> Rounded(std::vector<float> values, DType dtype) {
  for (float& value : values) value = Rounded(value, dtype);
  return values;
}

// Device memory of one element type. Every byte is 0xFF (NaN in all types) until written.
class DeviceArray {
 public:
  DeviceArray(int64_t count, DType dtype) : count_(count), dtype_(dtype) {
    CheckCuda(cudaMalloc(&data_, bytes() + 1), "cudaMalloc");
    CheckCuda(cudaMemset(data_, 0xFF, bytes()), "cudaMemset");
  }
  DeviceArray(std::span<const float> values, DType dtype)
      : DeviceArray(static_cast<int64_t>(values.size()), dtype) {
    std::vector<unsigned char> packed(bytes());
    for (size_t i = 0; i < values.size(); ++i) Put(values[i], packed.data() + i * SizeOf(dtype));
    CheckCuda(cudaMemcpy(data_, packed.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  template <typename Integer>
  static DeviceArray Integers(const std::vector<Integer>& values) {
    DeviceArray array(static_cast<int64_t>(values.size()),
                      sizeof(Integer) == 8 ? DType::kI64 : DType::kI32);
    CheckCuda(cudaMemcpy(array.data_, values.data(), array.bytes(), cudaMemcpyHostToDevice),
              "cudaMemcpy");
    return array;
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(other.count_), dtype_(other.dtype_) {}
  DeviceArray& operator=(DeviceArray&&) = delete;

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  float* floats() const { return as<float>(); }
  size_t bytes() const { return static_cast<size_t>(count_) * SizeOf(dtype_); }
  // The address of element `index`.
  void* at(int64_t index) const {
    return as<unsigned char>() + static_cast<size_t>(index) * SizeOf(dtype_);
  }

  std::vector<float> Download() const { return DownloadAs(dtype_); }
  // What lies there, taken as numbers of another type of the same size.
  std::vector<float> DownloadAs(DType dtype) const {
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<unsigned char> packed(bytes());
    CheckCuda(cudaMemcpy(packed.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::vector<float> values(static_cast<size_t>(count_));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = Get(packed.data() + i * SizeOf(dtype), dtype);
    }
    return values;
  }

 private:
  void Put(float value, unsigned char* target) const {
    if (dtype_ == DType::kF32) std::memcpy(target, &value, 4);
    const BFloat16 brain = ToBFloat16(value);
    const __half half = __float2half_rn(value);
    if (dtype_ == DType::kBF16) std::memcpy(target, &brain, 2);
    if (dtype_ == DType::kF16) std::memcpy(target, &half, 2);
  }
  static float Get(const unsigned char* source, DType dtype) {
    float value = 0.0f;
    BFloat16 brain;
    __half half;
    if (dtype == DType::kF32) std::memcpy(&value, source, 4);
    if (dtype == DType::kBF16) {
      std::memcpy(&brain, source, 2);
      value = ToFloat(brain);
    }
    if (dtype == DType::kF16) {
      std::memcpy(&half, source, 2);
      value = __half2float(half);
    }
    return value;
  }

  void* data_ = nullptr;
  int64_t count_;
  DType dtype_;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_DEVICE_ARRAY_H_
