#include "base/natural_order.h"

#include <cstddef>

namespace lingbot {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

unsigned char Folded(char c) {
  return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

// Removes the run of digits at the front of `text` and returns it without leading zeros.
std::string_view TakeNumber(std::string_view* text) {
  size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  std::string_view number = text->substr(0, end);
  text->remove_prefix(end);
  while (!number.empty() && number.front() == '0') number.remove_prefix(1);
  return number;
}

int CompareNumbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  std::string_view rest_a = a, rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (IsDigit(rest_a.front()) && IsDigit(rest_b.front())) {
      const int order = CompareNumbers(TakeNumber(&rest_a), TakeNumber(&rest_b));
      if (order != 0) return order < 0;
      continue;
    }
    const unsigned char first_a = Folded(rest_a.front()), first_b = Folded(rest_b.front());
    if (first_a != first_b) return first_a < first_b;
    rest_a.remove_prefix(1);
    rest_b.remove_prefix(1);
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;
}

}  // namespace lingbot
