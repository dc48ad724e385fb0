#include <cstdint>

#include "read_all.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lingbot::ReadAll(lingbot::ParseSafetensors, std::as_bytes(std::span(data, size)));
}
