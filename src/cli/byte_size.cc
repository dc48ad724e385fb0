#include "cli/byte_size.h"

#include <cctype>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/check.h"

namespace lingbot::cli {
namespace {

constexpr std::pair<const char*, double> kUnits[] = {
    {"", 1},      {"b", 1},
    {"kb", 1e3},  {"kib", 1024.0},
    {"mb", 1e6},  {"mib", 1048576.0},
    {"gb", 1e9},  {"gib", 1073741824.0},
    {"tb", 1e12}, {"tib", 1099511627776.0},
};

// The factor behind a unit; 0 if there is none of that name.
double FactorOf(std::string unit) {
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return factor;
  }
  return 0;
}

}  // namespace

uint64_t ParseByteSize(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string number = text.substr(0, digits);
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  unit.erase(0, unit.find_first_not_of(' '));
  std::istringstream stream(number);
  stream.imbue(std::locale::classic());
  double value = 0;
  const bool is_number = static_cast<bool>(stream >> value) && stream.peek() == EOF;
  const double bytes = value * FactorOf(unit);
  Check(is_number && bytes >= 1 && bytes < std::ldexp(1.0, 63), ErrorCode::kInvalidArgument,
        "'{}' is not an amount of memory; expected a number with one of the units kB, MB, GB, TB "
        "(powers of ten), KiB, MiB, GiB, TiB (powers of two), such as 4GiB, or bytes without one",
        text);
  return static_cast<uint64_t>(bytes);
}

}  // namespace lingbot::cli
