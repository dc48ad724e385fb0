#ifndef LINGBOT_OPS_CUDA_DEVICE_BYTES_H_
#define LINGBOT_OPS_CUDA_DEVICE_BYTES_H_

#include <cstddef>

namespace lingbot::ops::cuda {

// Owns device memory of a fixed size on the current device; not zeroed.
class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_DEVICE_BYTES_H_
