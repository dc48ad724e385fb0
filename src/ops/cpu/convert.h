#ifndef LINGBOT_OPS_CPU_CONVERT_H_
#define LINGBOT_OPS_CPU_CONVERT_H_

#include <cstdint>

#include "base/dtype.h"

namespace lingbot::ops::cpu {

// Plain loops that compilers vectorise.
inline void Widen(const BFloat16* source, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = ToFloat(source[i]);
}

inline void Narrow(const float* source, int64_t count, BFloat16* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = ToBFloat16(source[i]);
}

}  // namespace lingbot::ops::cpu

#endif  // LINGBOT_OPS_CPU_CONVERT_H_
