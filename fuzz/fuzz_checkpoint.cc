#include <cstdint>

#include "read_all.h"
#include "weights/checkpoint.h"
#include "weights/safetensors.h"
#include "weights/torch_pt.h"

namespace {

lingbot::StoredTensors Parse(std::span<const std::byte> bytes, const std::string& name) {
  return lingbot::RecogniseCheckpoint(bytes, name) == lingbot::CheckpointFormat::kTorchPt
             ? lingbot::ParseTorchPt(bytes, name)
             : lingbot::ParseSafetensors(bytes, name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lingbot::ReadAll(Parse, std::as_bytes(std::span(data, size)));
}
