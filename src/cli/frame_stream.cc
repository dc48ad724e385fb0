#include "cli/frame_stream.h"

namespace lingbot::cli {
namespace {

std::variant<Session, WindowedSession> MakeStream(const Model& model, int height, int width,
                                                  const SessionOptions& options,
                                                  const std::optional<WindowedOptions>& windows) {
  if (windows) return WindowedSession(model, height, width, options, *windows);
  return Session(model, height, width, options);
}

}  // namespace

FrameStream::FrameStream(const Model& model, int height, int width, const SessionOptions& options,
                         const std::optional<WindowedOptions>& windows)
    : stream_(MakeStream(model, height, width, options, windows)) {}

void FrameStream::Add(std::span<const float> rgb, const ResultCallback& on_result) {
  std::visit([&](auto& stream) { stream.Add(rgb, on_result); }, stream_);
}

void FrameStream::Finish(const ResultCallback& on_result) {
  std::visit([&](auto& stream) { stream.Finish(on_result); }, stream_);
}

void FrameStream::Save(const std::filesystem::path& path, const std::string& note,
                       const SnapshotSaver& more) const {
  std::visit([&](const auto& stream) { stream.Save(path, note, more); }, stream_);
}

void FrameStream::Load(const std::filesystem::path& path, const SnapshotLoader& more) {
  std::visit([&](auto& stream) { stream.Load(path, more); }, stream_);
}

std::vector<WindowTransform> FrameStream::transforms() const {
  if (!windowed()) return {};
  return std::get<WindowedSession>(stream_).transforms();
}

CacheOccupancy FrameStream::occupancy() const {
  return std::visit([](const auto& stream) { return stream.occupancy(); }, stream_);
}

const MemoryPlan& FrameStream::memory_plan() const {
  return std::visit([](const auto& stream) -> const MemoryPlan& { return stream.memory_plan(); },
                    stream_);
}

AttentionBackend FrameStream::attention() const {
  return std::visit([](const auto& stream) { return stream.attention(); }, stream_);
}

const StageTimes& FrameStream::last_step() const {
  return std::visit([](const auto& stream) -> const StageTimes& { return stream.last_step(); },
                    stream_);
}

}  // namespace lingbot::cli
