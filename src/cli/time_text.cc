#include "cli/time_text.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace lingbot::cli {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits, with a fraction if that is allowed; short enough to be exact.
bool IsNumber(std::string_view text, bool fraction) {
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (whole.empty() || whole.size() > 9 || !std::all_of(whole.begin(), whole.end(), IsDigit)) {
    return false;
  }
  if (point == std::string_view::npos) return true;
  const std::string_view rest = text.substr(point + 1);
  return fraction && !rest.empty() && rest.size() <= 9 &&
         std::all_of(rest.begin(), rest.end(), IsDigit);
}

}  // namespace

double ParseTime(std::string_view text) {
  double seconds = 0;
  std::string_view rest = text;
  for (int part = 0;; ++part) {
    const size_t colon = rest.find(':');
    const bool last = colon == std::string_view::npos;
    const std::string_view number = rest.substr(0, colon);
    const double value = IsNumber(number, last) ? std::stod(std::string(number)) : -1;
    Check(value >= 0 && (part == 0 || value < 60) && (last || part < 2),
          ErrorCode::kInvalidArgument, "expected a time such as 90, 2.5, 1:30 or 1:02:03, not {}",
          text);
    seconds = 60 * seconds + value;
    if (last) return seconds;
    rest = rest.substr(colon + 1);
  }
}

}  // namespace lingbot::cli
