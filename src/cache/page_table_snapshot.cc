#include <algorithm>

#include "base/check.h"
#include "cache/page_table.h"

namespace lingbot {
namespace {

// 1,000 years at 30 frames/s: beyond it the number is damage.
constexpr int64_t kMostStored = int64_t{1} << 40;

}  // namespace

// The ring is written from its oldest page on: where it lies in the ring's memory makes no
// difference to any later step.
void PageTable::Save(ByteSink& sink) const {
  Check(!open_, ErrorCode::kInternal, "the cache was saved inside a step");
  WriteValue(sink, stored_);
  WriteList(sink, state_.scale.data(), state_.scale.size());
  std::vector<int32_t> window;
  for (int i = 0; i < state_.window; ++i) {
    window.push_back(state_.ring[static_cast<size_t>(state_.head + i) % state_.ring.size()]);
  }
  WriteList(sink, window.data(), window.size());
  WriteList(sink, state_.free.data(), state_.free.size());
  WriteList(sink, entries_.data(), entries_.size());
}

void PageTable::Load(ByteSource& source) {
  Check(!open_, ErrorCode::kInternal, "a cache was loaded inside a step");
  const auto stored = ReadInRange<int64_t>(source, "the number of stored frames", 0, kMostStored);
  State state;
  state.scale = ReadList<int32_t>(source, "the list of scale pages", config_.scale_frames);
  state.ring = ReadList<int32_t>(source, "the list of window pages", config_.sliding_window);
  state.window = static_cast<int>(state.ring.size());
  state.free = ReadList<int32_t>(source, "the list of free pages", patch_pages_);
  const auto entries =
      ReadList<int64_t>(source, "the list of remembered frames", config_.trajectory_frames);
  CheckLoaded(source, state, entries, stored);
  // Element by element into the lists there are: they keep the room that they were given.
  Reset();
  stored_ = stored;
  state_.scale.assign(state.scale.begin(), state.scale.end());
  std::copy(state.ring.begin(), state.ring.end(), state_.ring.begin());
  state_.window = state.window;
  state_.free.assign(state.free.begin(), state.free.end());
  entries_.assign(entries.begin(), entries.end());
}

void PageTable::CheckLoaded(const ByteSource& source, const State& state,
                            const std::vector<int64_t>& entries, int64_t stored) const {
  const auto check = [&](bool holds, const char* what) {
    Check(holds, ErrorCode::kCorruptFile, "{} is damaged: {}", source.name(), what);
  };
  const auto scale = static_cast<int64_t>(state.scale.size());
  check((stored == 0) == (scale == 0) && scale <= stored, "its scale frames are not stored ones");
  check(state.window == std::min<int64_t>(stored - scale, config_.sliding_window),
        "its window does not fit the number of stored frames");
  std::vector<uint8_t> seen(patch_pages_, 0);
  int64_t pages = 0;
  for (const auto* list : {&state.scale, &state.ring, &state.free}) {
    for (const int32_t page : *list) {
      check(page >= 0 && page < patch_pages_ && seen[page] == 0,
            "a page is listed twice or does not exist");
      seen[page] = 1;
      ++pages;
    }
  }
  check(pages == patch_pages_, "a page is missing in its lists");
  const auto remembered = static_cast<int64_t>(entries.size());
  check(remembered == stored || stored > config_.trajectory_frames,
        "frames are forgotten although there was room");
  check(remembered >= scale + state.window / 2 && remembered <= stored,
        "its remembered frames do not fit the number of stored frames");
  for (int64_t i = 0; i < remembered; ++i) {
    check(i < scale ? entries[i] == i : entries[i] > entries[i - 1] && entries[i] < stored,
          "its remembered frames are not in order");
  }
}

}  // namespace lingbot
