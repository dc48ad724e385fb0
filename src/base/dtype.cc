#include "base/dtype.h"

#include <cmath>
#include <cstring>

#include "base/check.h"

namespace lingbot {

size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  Fail(ErrorCode::kInternal, "unknown dtype {}", static_cast<int>(dtype));
}

const char* NameOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF64:
      return "float64";
    case DType::kI64:
      return "int64";
    case DType::kI32:
      return "int32";
    case DType::kI16:
      return "int16";
    case DType::kI8:
      return "int8";
    case DType::kU8:
      return "uint8";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

float HalfToFloat(uint16_t bits) {
  const int sign = bits >> 15;
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  float magnitude;
  if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else if (exponent == 31) {
    magnitude = mantissa == 0 ? INFINITY : NAN;
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return sign ? -magnitude : magnitude;
}

namespace {

// Sources in files have no alignment guarantee, hence memcpy per element.
template <typename T, typename Convert>
void ConvertEach(const void* source, size_t count, float* target, Convert convert) {
  const auto* bytes = static_cast<const std::byte*>(source);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    target[i] = convert(value);
  }
}

template <typename T>
void ConvertNumbers(const void* source, size_t count, float* target) {
  ConvertEach<T>(source, count, target, [](T value) { return static_cast<float>(value); });
}

}  // namespace

void ConvertToFloat(const void* source, DType dtype, size_t count, float* target) {
  if (count == 0) return;
  switch (dtype) {
    case DType::kF32:
      std::memcpy(target, source, count * sizeof(float));
      return;
    case DType::kBF16:
      ConvertEach<BFloat16>(source, count, target, [](BFloat16 value) { return ToFloat(value); });
      return;
    case DType::kF16:
      ConvertEach<uint16_t>(source, count, target, HalfToFloat);
      return;
    case DType::kF64:
      return ConvertNumbers<double>(source, count, target);
    case DType::kI64:
      return ConvertNumbers<int64_t>(source, count, target);
    case DType::kI32:
      return ConvertNumbers<int32_t>(source, count, target);
    case DType::kI16:
      return ConvertNumbers<int16_t>(source, count, target);
    case DType::kI8:
      return ConvertNumbers<int8_t>(source, count, target);
    case DType::kU8:
      return ConvertNumbers<uint8_t>(source, count, target);
    case DType::kBool:
      ConvertEach<uint8_t>(source, count, target, [](uint8_t v) { return v ? 1.0f : 0.0f; });
      return;
  }
}

}  // namespace lingbot
