#include "media/patience.h"

#include <poll.h>

namespace lingbot {

void Patience::Begin(double more_seconds) {
  const auto wait = std::chrono::duration<double>(seconds_ + more_seconds);
  deadline_ = seconds_ > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(wait)
                           : Clock::time_point::max();
}

bool Patience::over() const {
  if (cancelled_) return true;
  if (Clock::now() < deadline_.load()) return false;
  silent_ = true;
  return true;
}

bool WaitForInput(int descriptor, Patience* patience) {
  patience->Begin();
  for (;;) {
    pollfd waiting = {descriptor, POLLIN, 0};
    if (::poll(&waiting, 1, /*milliseconds=*/100) > 0) return true;
    if (patience->over()) return false;
  }
}

}  // namespace lingbot
