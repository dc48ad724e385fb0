#ifndef LINGBOT_ERROR_H_
#define LINGBOT_ERROR_H_

#include <stdexcept>
#include <string>

namespace lingbot {

// What kind of thing went wrong. The message of an Error says the rest in one sentence: what,
// where, expected, actual, what to do.
enum class ErrorCode {
  kInvalidArgument,    // an option or a call is out of range or contradicts another
  kFileNotFound,       // a path does not exist
  kFileUnreadable,     // exists but cannot be opened, mapped or read
  kFileUnwritable,     // an output cannot be created or written (full disk, no permission)
  kUnsupportedFormat,  // recognised, but a kind of file this library does not read
  kCorruptFile,        // damaged, truncated or self-contradictory
  kUnsafeFile,         // asks for code to be run (a hostile pickle)
  kMissingTensor,      // a checkpoint lacks a tensor the model needs
  kShapeMismatch,      // a tensor or frame has another shape than expected
  kNoInput,            // nothing usable was found where input was looked for
  kOutOfMemory,        // the plan does not fit into the memory that is free or allowed
  kTrajectoryFull,     // `strict` and more frames stored than `trajectory_frames`
  kUnavailable,        // the device or back end asked for does not exist here
  kInternal,           // a broken invariant of the library: please report
};

// Stable upper-case name of a code, e.g. "SHAPE_MISMATCH".
const char* ErrorCodeName(ErrorCode code);

// The only exception type that the library throws (besides std::bad_alloc).
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace lingbot

#endif  // LINGBOT_ERROR_H_
