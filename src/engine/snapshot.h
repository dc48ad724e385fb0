#ifndef LINGBOT_ENGINE_SNAPSHOT_H_
#define LINGBOT_ENGINE_SNAPSHOT_H_

#include <filesystem>
#include <functional>
#include <string>

#include "base/byte_stream.h"
#include "engine/memory_plan.h"
#include "lingbot/session.h"
#include "lingbot/snapshot.h"

namespace lingbot {

// What the results of such a stream depend on; keyframe_interval, windows and frames are left to
// the caller.
SnapshotInfo DescribeStream(const ModelInfo& model, const StreamPlan& plan);

// Writes a snapshot: `info` in its head, then what `save` and `more` write.
void SaveSnapshot(const std::filesystem::path& path, const SnapshotInfo& info,
                  const std::string& note, const SnapshotSaver& more,
                  const std::function<void(ByteSink&)>& save);

// Checks the file and that it is of a session like `own`, then has `load` and `more` read it. If
// anything fails after `load` has begun, calls `reset`.
void LoadSnapshot(const std::filesystem::path& path, const SnapshotInfo& own,
                  const SnapshotLoader& more, const std::function<void(ByteSource&)>& load,
                  const std::function<void()>& reset);

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_SNAPSHOT_H_
