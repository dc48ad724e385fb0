#ifndef LINGBOT_CACHE_CHECKED_SIZE_H_
#define LINGBOT_CACHE_CHECKED_SIZE_H_

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "base/check.h"

namespace lingbot {

// Product of sizes that come from options and from a checkpoint. Throws kInvalidArgument, naming
// `what`, unless it fits a signed 64-bit number (offsets and strides are signed).
inline uint64_t CheckedProduct(const char* what, std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    Check(factor >= 0 && !__builtin_mul_overflow(product, factor, &product),
          ErrorCode::kInvalidArgument,
          "the size of {} does not fit into 64 bits; check the configuration of the cache", what);
  }
  Check(product <= int64_t{1} << 60, ErrorCode::kInvalidArgument,
        "the size of {}, {}, is beyond any memory; check the configuration of the cache", what,
        product);
  return static_cast<uint64_t>(product);
}

// Throws kInvalidArgument unless 1 <= value <= most.
inline void CheckPositive(const char* name, int64_t value,
                          int64_t most = std::numeric_limits<int32_t>::max()) {
  Check(value >= 1 && value <= most, ErrorCode::kInvalidArgument,
        "{} of the cache must be between 1 and {}; got {}", name, most, value);
}

}  // namespace lingbot

#endif  // LINGBOT_CACHE_CHECKED_SIZE_H_
