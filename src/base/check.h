#ifndef LINGBOT_BASE_CHECK_H_
#define LINGBOT_BASE_CHECK_H_

#include <fmt/format.h>

#include <utility>

#include "lingbot/error.h"

namespace lingbot {

// Throws an Error whose message is formatted as by fmt::format.
template <typename... Args>
[[noreturn]] void Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws unless `condition` holds. For input validation as much as for the library's own invariants
// (those use kInternal); never compiled out.
template <typename... Args>
void Check(bool condition, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] {
    Fail(code, format, std::forward<Args>(args)...);
  }
}

}  // namespace lingbot

#endif  // LINGBOT_BASE_CHECK_H_
