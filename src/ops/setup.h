#ifndef LINGBOT_OPS_SETUP_H_
#define LINGBOT_OPS_SETUP_H_

#include "lingbot/options.h"
#include "tensor/tensor_view.h"

namespace lingbot::ops {

// On what, and in which numbers, a network runs: what decides where weights are put, which types
// tensors between operators have, and how much temporary memory an operator takes.
struct Setup {
  Device device = Device::kCpu;
  int ordinal = 0;              // of the GPU
  DType storage = DType::kF32;  // of weights and of the KV cache: kF32, kBF16 (kF16: depth head)
  AttentionBackend attention = AttentionBackend::kAuto;
  int threads = 1;

  bool on_gpu() const { return device == Device::kCuda; }
  // What attention takes and gives. The CPU's converts inside, a GPU's does not.
  DType activations() const { return on_gpu() ? storage : DType::kF32; }
  // Of weights whose products take and give values of known range: a GPU multiplies half precision
  // as fast as bfloat16, and it keeps three digits more.
  DType bounded_products() const {
    return on_gpu() && storage == DType::kBF16 ? DType::kF16 : storage;
  }
  // Of the depth head's feature maps: half precision keeps more digits than bfloat16, and after a
  // normalisation its range suffices.
  DType features() const { return on_gpu() && storage == DType::kBF16 ? DType::kF16 : DType::kF32; }
  Setup With(DType other_storage) const {
    Setup setup = *this;
    setup.storage = other_storage;
    return setup;
  }
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_SETUP_H_
