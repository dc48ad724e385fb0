#include "base/program_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lingbot {

void PrepareProgramStreams() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Lower descriptors are open by now, so this one is what open returns. Read-only, so that
    // writing to a closed standard output stays an error.
    (void)::open("/dev/null", O_RDONLY);
  }
}

}  // namespace lingbot
