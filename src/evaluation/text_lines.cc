#include "evaluation/text_lines.h"

#include <charconv>
#include <system_error>

namespace lingbot {

bool TextLines::Next(std::string_view* line) {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  *line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
  ++number_;
  return true;
}

std::string_view TakeWord(std::string_view* text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const size_t start = text->find_first_not_of(kSpace);
  text->remove_prefix(start == std::string_view::npos ? text->size() : start);
  const std::string_view word = text->substr(0, text->find_first_of(kSpace));
  text->remove_prefix(word.size());
  return word;
}

bool ParseNumber(std::string_view word, double* number) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *number);
  return stop == end && !word.empty() && error == std::errc();
}

bool ParseNumbers(std::string_view line, std::vector<double>* numbers) {
  numbers->clear();
  for (std::string_view word = TakeWord(&line); !word.empty(); word = TakeWord(&line)) {
    double number = 0;
    if (!ParseNumber(word, &number)) return false;
    numbers->push_back(number);
  }
  return true;
}

}  // namespace lingbot
