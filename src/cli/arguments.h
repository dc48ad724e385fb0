#ifndef LINGBOT_CLI_ARGUMENTS_H_
#define LINGBOT_CLI_ARGUMENTS_H_

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lingbot::cli {

// Ways to declare an option that all commands share. Every value is taken as text and read here, so
// that what is refused is refused in one sentence of ours; `fallback` is what --help names as the
// default.

// Options that are declared from here on stand under `heading` in --help.
void BeginGroup(CLI::App* app, const std::string& heading);

constexpr int64_t kMostCount = int64_t{1} << 20;  // of any count that has no bound of its own

// An option whose text `read` takes; what it throws (Error) becomes the command line's error.
// `value` names the kind of value in --help: "FILE" and "DIR" are completed by shells, words with
// bars between them ("crop|pad") too.
CLI::Option* AddText(CLI::App* app, const std::string& name, const std::string& value,
                     std::function<void(const std::string&)> read, const std::string& fallback,
                     const std::string& text);

// A whole number in [least, most]; --help states bounds of its own.
template <typename T>
CLI::Option* AddCount(CLI::App* app, const std::string& name, T* target, int64_t least,
                      const std::string& fallback, const std::string& text,
                      int64_t most = kMostCount);

// A finite number of at least `least`.
CLI::Option* AddNumber(CLI::App* app, const std::string& name, const std::string& value,
                       std::function<void(double)> set, double least, const std::string& fallback,
                       const std::string& text);

// One of a few words; `choices` in the order in which --help shows them.
template <typename T>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, T* target,
                       const std::vector<std::pair<std::string, T>>& choices,
                       const std::string& fallback, const std::string& text);
// Something named: the empty string names nothing.
CLI::Option* AddName(CLI::App* app, const std::string& name, const std::string& value,
                     std::string* target, const std::string& fallback, const std::string& text);

// The same, which must be given: an argument by its place, or an option.
CLI::Option* AddRequired(CLI::App* app, const std::string& name, const std::string& value,
                         std::string* target, const std::string& text);

// A flag that calls `set`.
CLI::Option* AddSwitch(CLI::App* app, const std::string& name, std::function<void()> set,
                       const std::string& text);
CLI::Option* AddSwitch(CLI::App* app, const std::string& name, bool* target,
                       const std::string& text);

// "a, b" as the value of an option that takes several of these words, with commas between them.
std::string ListValue(const std::string& words);

// How the above read; they throw kInvalidArgument.
int64_t ReadCount(const std::string& text, int64_t least, int64_t most);
double ReadNumber(const std::string& text, double least);
size_t ReadWord(const std::string& text, const std::vector<std::string>& words);

template <typename T>
CLI::Option* AddCount(CLI::App* app, const std::string& name, T* target, int64_t least,
                      const std::string& fallback, const std::string& text, int64_t most) {
  return AddText(
      app, name, most == kMostCount ? "N" : fmt::format("{}..{}", least, most),
      [target, least, most](const std::string& word) {
        *target = static_cast<T>(ReadCount(word, least, most));
      },
      fallback, text);
}

template <typename T>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, T* target,
                       const std::vector<std::pair<std::string, T>>& choices,
                       const std::string& fallback, const std::string& text) {
  std::vector<std::string> words;
  std::string value;
  for (const auto& choice : choices) {
    value += (words.empty() ? "" : "|") + choice.first;
    words.push_back(choice.first);
  }
  return AddText(
      app, name, value,
      [target, choices, words](const std::string& word) {
        *target = choices[ReadWord(word, words)].second;
      },
      fallback, text);
}

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_ARGUMENTS_H_
