#include "cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace lingbot::cli {

void BeginGroup(CLI::App* app, const std::string& heading) {
  app->option_defaults()->group(heading);
}

CLI::Option* AddText(CLI::App* app, const std::string& name, const std::string& value,
                     std::function<void(const std::string&)> read, const std::string& fallback,
                     const std::string& text) {
  CLI::Option* option = app->add_option_function<std::string>(
      name,
      [read = std::move(read), name](const std::string& word) {
        try {
          read(word);
        } catch (const Error& error) {
          throw CLI::ValidationError(name, error.what());
        }
      },
      text);
  option->type_name(value);
  if (!fallback.empty()) option->default_str(fallback);
  return option;
}

CLI::Option* AddNumber(CLI::App* app, const std::string& name, const std::string& value,
                       std::function<void(double)> set, double least, const std::string& fallback,
                       const std::string& text) {
  return AddText(
      app, name, value,
      [set = std::move(set), least](const std::string& word) { set(ReadNumber(word, least)); },
      fallback, text);
}

CLI::Option* AddName(CLI::App* app, const std::string& name, const std::string& value,
                     std::string* target, const std::string& fallback, const std::string& text) {
  return AddText(
      app, name, value,
      [target](const std::string& word) {
        Check(!word.empty(), ErrorCode::kInvalidArgument, "is empty, which names nothing");
        *target = word;
      },
      fallback, text);
}

CLI::Option* AddRequired(CLI::App* app, const std::string& name, const std::string& value,
                         std::string* target, const std::string& text) {
  return AddName(app, name, value, target, "", text)->required();
}

CLI::Option* AddSwitch(CLI::App* app, const std::string& name, std::function<void()> set,
                       const std::string& text) {
  return app->add_flag_callback(name, std::move(set), text);
}

CLI::Option* AddSwitch(CLI::App* app, const std::string& name, bool* target,
                       const std::string& text) {
  return AddSwitch(
      app, name, [target] { *target = true; }, text);
}

std::string ListValue(const std::string& words) {
  std::string value;
  for (const char c : words) {
    if (c != ' ') value += c == ',' ? '|' : c;
  }
  return value + ",...";
}

int64_t ReadCount(const std::string& text, int64_t least, int64_t most) {
  const bool digits = !text.empty() && text.size() < 19 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const int64_t value = digits ? std::stoll(text) : -1;
  Check(digits && value >= least && value <= most, ErrorCode::kInvalidArgument,
        "'{}' is not a whole number from {} to {}", text, least, most);
  return value;
}

double ReadNumber(const std::string& text, double least) {
  double value = 0;
  const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
  Check(number && value >= least, ErrorCode::kInvalidArgument,
        "'{}' is not a finite number of at least {}", text, least);
  return value;
}

size_t ReadWord(const std::string& text, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), text);
  Check(found != words.end(), ErrorCode::kInvalidArgument, "'{}' is none of {}", text,
        fmt::join(words, ", "));
  return static_cast<size_t>(found - words.begin());
}

}  // namespace lingbot::cli
