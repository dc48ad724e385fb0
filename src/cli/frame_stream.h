#ifndef LINGBOT_CLI_FRAME_STREAM_H_
#define LINGBOT_CLI_FRAME_STREAM_H_

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lingbot/session.h"

namespace lingbot::cli {

// A session of either mode behind one face.
class FrameStream {
 public:
  // With `windows`: windowed mode. Throws as the sessions do.
  FrameStream(const Model& model, int height, int width, const SessionOptions& options,
              const std::optional<WindowedOptions>& windows);

  void Add(std::span<const float> rgb, const ResultCallback& on_result);
  void Finish(const ResultCallback& on_result);

  void Save(const std::filesystem::path& path, const std::string& note,
            const SnapshotSaver& more) const;
  void Load(const std::filesystem::path& path, const SnapshotLoader& more);

  bool windowed() const { return std::holds_alternative<WindowedSession>(stream_); }
  std::vector<WindowTransform> transforms() const;  // windowed mode; else empty
  CacheOccupancy occupancy() const;
  const MemoryPlan& memory_plan() const;
  AttentionBackend attention() const;
  const StageTimes& last_step() const;

 private:
  std::variant<Session, WindowedSession> stream_;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_FRAME_STREAM_H_
