#ifndef LINGBOT_EVALUATION_TEXT_LINES_H_
#define LINGBOT_EVALUATION_TEXT_LINES_H_

#include <string_view>
#include <vector>

namespace lingbot {

// Takes the lines of a text one after the other, without their ends (\n or \r\n).
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  bool Next(std::string_view* line);
  int number() const { return number_; }  // of the line taken last, from 1

 private:
  std::string_view rest_;
  int number_ = 0;
};

// Removes and returns the next word, up to white space; empty at the end.
std::string_view TakeWord(std::string_view* text);

// The word as a number; "nan" and "inf" are numbers. False for anything else.
bool ParseNumber(std::string_view word, double* number);

// All words of the line as numbers. False if one is none.
bool ParseNumbers(std::string_view line, std::vector<double>* numbers);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_TEXT_LINES_H_
