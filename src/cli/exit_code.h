#ifndef LINGBOT_CLI_EXIT_CODE_H_
#define LINGBOT_CLI_EXIT_CODE_H_

#include "lingbot/error.h"

namespace lingbot::cli {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,         // while loading, computing or writing
  kUsage = 2,          // the command line or the input cannot be used; nothing was written
  kInterrupted = 130,  // as a shell reports SIGINT; frames so far are written
};

// An error of the kUsage kind, whatever its code.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Errors of `body` are the user's to mend before anything can begin.
template <typename Body>
auto AsUsage(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw UsageError(error.code(), error.what());
  }
}

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_EXIT_CODE_H_
