#ifndef LINGBOT_FUZZ_READ_ALL_H_
#define LINGBOT_FUZZ_READ_ALL_H_

#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lingbot/error.h"
#include "weights/stored_tensors.h"

namespace lingbot {

// Parses an input and reads every tensor of it that is not large. An Error is a fine answer, unless
// it says that the library is broken.
template <typename Parser>
int ReadAll(Parser parse, std::span<const std::byte> bytes) {
  constexpr int64_t kEnough = 1 << 14;
  try {
    const StoredTensorSource source("input", parse(bytes, std::string("input")), bytes);
    std::vector<float> values(kEnough);
    for (const auto& [name, info] : source.tensors()) {
      if (info.shape.elements() <= kEnough) source.ReadFloats(name, values.data());
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}

}  // namespace lingbot

#endif  // LINGBOT_FUZZ_READ_ALL_H_
