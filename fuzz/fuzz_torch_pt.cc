// The whole input is tried as an archive, and, so that the pickle is reached without the fuzzer
// having to keep an archive intact, as the pickle of one whose data are 64 bytes.

#include <cstdint>
#include <string_view>

#include "read_all.h"
#include "weights/torch_pt.h"
#include "weights/torch_test_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lingbot::ReadAll(lingbot::ParseTorchPt, std::as_bytes(std::span(data, size)));
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string archive = lingbot::TorchZip(pickle, {std::string(64, '\x3F')}).Write();
  return lingbot::ReadAll(lingbot::ParseTorchPt, lingbot::AsBytes(archive));
}
