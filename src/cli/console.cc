#include "cli/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace lingbot::cli {
namespace {

// Standard error has nobody to report its own failure to.
void PrintErr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = c == '\n' ? ' ' : '?';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

void PrintOut(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  const bool flushed = std::fflush(stdout) == 0;
  Check(written && flushed, ErrorCode::kFileUnwritable, "cannot write to standard output: {}",
        std::strerror(errno));
}

void PrintError(std::string_view message) {
  PrintErr(fmt::format("lingbot-map: error: {}\n", OneLine(message)));
}

Console::Console(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() { EndProgress(); }

void Console::Note(std::string_view line) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  EndProgress();
  PrintErr(fmt::format("{}\n", OneLine(line)));
}

void Console::Warn(std::string_view line) {
  const std::lock_guard lock(mutex_);
  EndProgress();
  PrintErr(fmt::format("lingbot-map: warning: {}\n", OneLine(line)));
}

void Console::Progress(std::string_view line) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  if (terminal_) {
    // Back to the first column, then blank what a longer line before left behind.
    PrintErr(fmt::format("\r{}\x1b[K", OneLine(line)));
    open_ = true;
  } else {
    PrintErr(fmt::format("{}\n", OneLine(line)));
  }
}

void Console::EndProgress() {
  if (open_) PrintErr("\n");
  open_ = false;
}

}  // namespace lingbot::cli
