#include "lingbot/error.h"

namespace lingbot {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case ErrorCode::kFileNotFound:
      return "FILE_NOT_FOUND";
    case ErrorCode::kFileUnreadable:
      return "FILE_UNREADABLE";
    case ErrorCode::kFileUnwritable:
      return "FILE_UNWRITABLE";
    case ErrorCode::kUnsupportedFormat:
      return "UNSUPPORTED_FORMAT";
    case ErrorCode::kCorruptFile:
      return "CORRUPT_FILE";
    case ErrorCode::kUnsafeFile:
      return "UNSAFE_FILE";
    case ErrorCode::kMissingTensor:
      return "MISSING_TENSOR";
    case ErrorCode::kShapeMismatch:
      return "SHAPE_MISMATCH";
    case ErrorCode::kNoInput:
      return "NO_INPUT";
    case ErrorCode::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case ErrorCode::kTrajectoryFull:
      return "TRAJECTORY_FULL";
    case ErrorCode::kUnavailable:
      return "UNAVAILABLE";
    case ErrorCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

}  // namespace lingbot
