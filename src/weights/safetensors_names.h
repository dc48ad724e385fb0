#ifndef LINGBOT_WEIGHTS_SAFETENSORS_NAMES_H_
#define LINGBOT_WEIGHTS_SAFETENSORS_NAMES_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/dtype.h"

namespace lingbot {

inline constexpr size_t kMaxSafetensorsHeader = 100'000'000;  // bytes; the format's own limit

// What safetensors calls the element types.
inline constexpr std::array<std::pair<std::string_view, DType>, 10> kSafetensorsTypes = {{
    {"F32", DType::kF32},
    {"BF16", DType::kBF16},
    {"F16", DType::kF16},
    {"F64", DType::kF64},
    {"I64", DType::kI64},
    {"I32", DType::kI32},
    {"I16", DType::kI16},
    {"I8", DType::kI8},
    {"U8", DType::kU8},
    {"BOOL", DType::kBool},
}};

inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_SAFETENSORS_NAMES_H_
