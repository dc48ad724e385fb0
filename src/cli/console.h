#ifndef LINGBOT_CLI_CONSOLE_H_
#define LINGBOT_CLI_CONSOLE_H_

#include <mutex>
#include <string>
#include <string_view>

namespace lingbot::cli {

// The text with control characters replaced, so that a name with a line feed stays on one line.
std::string OneLine(std::string_view text);

// Writes to standard output. Throws kFileUnwritable if it is closed or full: a summary that nobody
// got is not a success.
void PrintOut(const std::string& text);

// "lingbot-map: error: MESSAGE", one line on standard error.
void PrintError(std::string_view message);

// What a run says while it works, on standard error: lines that stay and a progress line that a
// terminal shows in place. Any thread may speak.
class Console {
 public:
  // `quiet` keeps notes and progress back, not warnings.
  explicit Console(bool quiet);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void Note(std::string_view line);
  void Warn(std::string_view line);

  // Replaces the progress line on a terminal, else adds a line.
  void Progress(std::string_view line);

  bool is_terminal() const { return terminal_; }

 private:
  void EndProgress();

  std::mutex mutex_;
  bool quiet_;
  bool terminal_;
  bool open_ = false;  // a progress line without its line feed stands on the terminal
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_CONSOLE_H_
