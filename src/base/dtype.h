#ifndef LINGBOT_BASE_DTYPE_H_
#define LINGBOT_BASE_DTYPE_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lingbot {

// Element types of tensors, in files and in memory.
enum class DType : uint8_t { kF32, kBF16, kF16, kF64, kI64, kI32, kI16, kI8, kU8, kBool };

size_t SizeOf(DType dtype);       // bytes per element
const char* NameOf(DType dtype);  // "float32", "bfloat16", ... (the names PyTorch uses)

// bfloat16: the upper half of a float32.
struct BFloat16 {
  uint16_t bits;
};

inline float ToFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Round to nearest, ties to even; NaN stays NaN.
inline BFloat16 ToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  }
  bits += 0x7FFFu + ((bits >> 16) & 1u);
  return {static_cast<uint16_t>(bits >> 16)};
}

float HalfToFloat(uint16_t bits);  // IEEE binary16, subnormals and NaN included

// Converts `count` contiguous elements of `dtype` at `source` to float32. 64-bit types are rounded.
void ConvertToFloat(const void* source, DType dtype, size_t count, float* target);

}  // namespace lingbot

#endif  // LINGBOT_BASE_DTYPE_H_
