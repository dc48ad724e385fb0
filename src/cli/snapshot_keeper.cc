#include "cli/snapshot_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/system_memory.h"
#include "lingbot/error.h"

namespace lingbot::cli {
namespace {

using std::chrono::minutes;

// Automatic snapshots: five minutes of work are worth one, if it takes 2 % of the time at most
// (6.4 GB of the released model's full cache take about ten seconds).
constexpr minutes kPause{5};
constexpr int kMostOften = 50;
// At an early end one minute is.
constexpr minutes kWorthSaving{1};

}  // namespace

SnapshotKeeper::SnapshotKeeper(const RunOptions& options, RunInfo info, const FrameStream& stream,
                               const RunWriter& writer, const RunPosition& saved, Console* console)
    : options_(options),
      info_(std::move(info)),
      stream_(stream),
      writer_(writer),
      console_(console),
      path_(SnapshotPath(options)),
      saved_(saved),
      last_(Clock::now()) {}

bool SnapshotKeeper::Due(const RunPosition& position) const {
  if (options_.snapshots == RunOptions::SnapshotKind::kNever) return false;
  if (!automatic()) return position.given - saved_.given >= options_.snapshot_every;
  return Clock::now() - last_ >= std::max<Clock::duration>(kPause, kMostOften * cost_);
}

// An automatic snapshot must not be what fills the disk.
bool SnapshotKeeper::HasRoom() {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path_.parent_path(), error);
  const MemoryPlan& plan = stream_.memory_plan();
  const uint64_t most = plan.patch_cache + plan.specials + plan.camera_cache + plan.results;
  if (error || space.available >= 2 * most) return true;
  WarnOnce(fmt::format("no snapshot of the run: {} free in {}, it may need {}",
                       FormatBytes(space.available), path_.parent_path().string(),
                       FormatBytes(most)));
  return false;
}

void SnapshotKeeper::Save(const RunPosition& position) {
  SaveRun(path_, info_, position, stream_, writer_);
  saved_ = position;
  warned_ = false;
}

void SnapshotKeeper::TrySave(const RunPosition& position) {
  const Clock::time_point start = Clock::now();
  if (!automatic() || HasRoom()) {
    try {
      Save(position);
    } catch (const Error& error) {
      WarnOnce(fmt::format("the run goes on without a new snapshot: {}", error.what()));
    } catch (const std::bad_alloc&) {
      WarnOnce("the run goes on without a new snapshot: out of memory");
    }
  }
  last_ = Clock::now();
  cost_ = last_ - start;
  saved_.given = position.given;  // also after a failure: the next attempt has its time
}

void SnapshotKeeper::WarnOnce(const std::string& line) {
  if (!warned_) console_->Warn(line);
  warned_ = true;
}

void SnapshotKeeper::AfterFrame(const RunPosition& position) {
  if (Due(position)) TrySave(position);
}

void SnapshotKeeper::AtEarlyEnd(const RunPosition& position) {
  if (options_.snapshots == RunOptions::SnapshotKind::kNever || position.given == saved_.given) {
    return;
  }
  if (automatic() && Clock::now() - last_ < kWorthSaving) return;
  TrySave(position);
}

void SnapshotKeeper::AtEnd(const RunPosition& position) {
  if (options_.keep_snapshot) Save(position);
}

void SnapshotKeeper::RemoveUnlessKept() {
  std::error_code ignored;
  if (!options_.keep_snapshot) std::filesystem::remove(path_, ignored);
}

}  // namespace lingbot::cli
