#include "cli/stop_signal.h"

#include <signal.h>
#include <unistd.h>

namespace lingbot::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A handler can reach nothing but a global.
volatile sig_atomic_t received_signal = 0;

void Receive(int number) {
  received_signal = number;
  constexpr char kText[] = "\nstopping after the step in work; once more to stop at once\n";
  if (::isatty(STDERR_FILENO) == 1) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  }
}

void Handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

bool IsIgnored(int number) {
  struct sigaction action = {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  for (const int number : kSignals) {
    if (!IsIgnored(number)) Handle(number, Receive, SA_RESTART | SA_RESETHAND);
  }
}

StopSignal::~StopSignal() {
  for (const int number : kSignals) {
    if (!IsIgnored(number)) Handle(number, SIG_DFL, 0);
  }
}

int StopSignal::number() const { return received_signal; }

}  // namespace lingbot::cli
