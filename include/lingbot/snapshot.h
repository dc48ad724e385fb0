#ifndef LINGBOT_SNAPSHOT_H_
#define LINGBOT_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "lingbot/options.h"
#include "lingbot/session.h"

namespace lingbot {

// What a snapshot file says of itself.
struct SnapshotInfo {
  uint64_t bytes = 0;     // of the file
  bool windowed = false;  // of a WindowedSession
  int64_t frames = 0;     // that the session had been given
  int height = 0;         // of its frames
  int width = 0;
  std::string fingerprint;  // ModelInfo::fingerprint of its model
  Precision precision = Precision::kFloat32;
  // Of the session, as far as its results depend on them; the others have their defaults.
  SessionOptions options;
  WindowedOptions windows;  // where windowed
  std::string note;         // what the program added in words
};

// Reads the head of a snapshot and nothing else: damage further on is found when it is loaded.
// Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat, kCorruptFile.
SnapshotInfo InspectSnapshot(const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_SNAPSHOT_H_
