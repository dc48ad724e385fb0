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
  // What products take and give. The CPU's convert inside, a GPU's do not.
  DType activations() const { return on_gpu() ? storage : DType::kF32; }
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
