#include "cache/page_table.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "cache/checked_size.h"

namespace lingbot {
namespace {

// The thinning rule drops nothing while fewer than 4 frames followed the scale frames (half of 3,
// rounded down, has no 2nd entry), so a budget below scale_frames + 3 could not be kept.
constexpr int kUnthinnable = 3;

// A week of video at 25 frames/s: beyond it the table's own lists would be an unreasonable
// allocation.
constexpr int64_t kMostFrames = 1 << 24;

void CheckConfig(const PageTableConfig& config) {
  CheckPositive("page_size", config.page_size);
  CheckPositive("specials_per_frame", config.specials_per_frame);
  CheckPositive("scale_frames", config.scale_frames, kMostFrames);
  CheckPositive("sliding_window", config.sliding_window, kMostFrames);
  CheckPositive("trajectory_frames", config.trajectory_frames, kMostFrames);
  const int64_t least = int64_t{config.scale_frames} + (config.strict ? 0 : kUnthinnable);
  Check(config.trajectory_frames >= least, ErrorCode::kInvalidArgument,
        "trajectory_frames is {} but {} scale frames are never thinned; use at least {}",
        config.trajectory_frames, config.scale_frames, least);
}

int64_t PagesFor(int64_t tokens, int64_t page_size) { return (tokens + page_size - 1) / page_size; }

}  // namespace

PageTable::PageTable(const PageTableConfig& config) : config_(config) {
  CheckConfig(config);
  // The scale step starts empty and fits the budget; later a step adds one entry to a full budget
  // at most.
  max_entries_ = int64_t{config.trajectory_frames} + 1;
  // One page more than scale and window hold: a frame is appended before the oldest one leaves.
  const int64_t patch = int64_t{config.scale_frames} + config.sliding_window + 1;
  const int64_t pages =
      patch + PagesFor(max_entries_ * config.specials_per_frame, config.page_size);
  Check(
      pages <= std::numeric_limits<int32_t>::max(), ErrorCode::kInvalidArgument,
      "the cache would need {} pages, more than 32-bit page ids can number; lower scale_frames {}, "
      "sliding_window {} or trajectory_frames {}",
      pages, config.scale_frames, config.sliding_window, config.trajectory_frames);
  patch_pages_ = static_cast<int32_t>(patch);
  max_pages_ = static_cast<int32_t>(pages);
  for (State* state : {&state_, &saved_}) {
    state->scale.reserve(config.scale_frames);
    state->ring.resize(static_cast<size_t>(config.sliding_window) + 1);
    state->free.reserve(patch_pages_);
  }
  entries_.reserve(max_entries_);
  evicted_.reserve(1);
  dropped_.reserve(max_entries_ / 4 + 1);
  Reset();
}

void PageTable::Reset() noexcept {
  state_.scale.clear();
  state_.head = 0;
  state_.window = 0;
  std::fill(state_.ring.begin(), state_.ring.end(), 0);
  state_.free.clear();
  // Lowest id on top: a short stream touches the memory of the first pages only.
  for (int32_t page = patch_pages_ - 1; page >= 0; --page) state_.free.push_back(page);
  entries_.clear();
  evicted_.clear();
  dropped_.clear();
  stored_ = 0;
  step_frames_ = 0;
  open_ = false;
}

void PageTable::Begin() {
  Check(!open_, ErrorCode::kInternal,
        "a step of the cache was begun inside another one; commit or discard that first");
  saved_ = state_;
  step_frames_ = 0;
  evicted_.clear();
  dropped_.clear();
  open_ = true;
}

void PageTable::CheckRoom(int frames) const {
  Check(
      !config_.strict || stored_ + frames <= config_.trajectory_frames, ErrorCode::kTrajectoryFull,
      "{} frames are stored, {} more exceed trajectory_frames {}; raise it, store fewer frames (a "
      "longer keyframe interval), or drop `strict` to have the older half thinned",
      stored_, frames, config_.trajectory_frames);
}

FrameSlot PageTable::AppendFrame() {
  Check(open_, ErrorCode::kInternal, "a frame was appended to the cache outside a step");
  Check(step_frames_ < step_capacity(), ErrorCode::kInvalidArgument,
        "this step of the cache takes {} frame(s) at most: the first step of a stream has 1 to {} "
        "(scale_frames), every later one has 1",
        step_capacity(), config_.scale_frames);
  Check(!state_.free.empty(), ErrorCode::kInternal, "the cache has no free patch page left of {}",
        patch_pages_);
  FrameSlot slot;
  slot.page = state_.free.back();
  slot.first_special = special_tokens();
  state_.free.pop_back();
  if (first_step()) {
    state_.scale.push_back(slot.page);
  } else {
    const size_t end = static_cast<size_t>(state_.head + state_.window) % state_.ring.size();
    state_.ring[end] = slot.page;
    ++state_.window;
  }
  entries_.push_back(stored_ + step_frames_);
  ++step_frames_;
  return slot;
}

void PageTable::EvictFrames() {
  Check(open_, ErrorCode::kInternal, "frames were evicted from the cache outside a step");
  while (state_.window > config_.sliding_window) {
    const int32_t page = state_.ring[state_.head];
    state_.head = (state_.head + 1) % static_cast<int>(state_.ring.size());
    --state_.window;
    state_.free.push_back(page);
    evicted_.push_back(page);
  }
}

void PageTable::RollbackLastFrame() {
  Check(open_ && step_frames_ > 0, ErrorCode::kInternal,
        "a frame of the cache was rolled back but the step holds none");
  if (first_step()) {
    state_.free.push_back(state_.scale.back());
    state_.scale.pop_back();
  } else {
    state_ = saved_;  // a later step holds one frame only
    evicted_.clear();
  }
  entries_.pop_back();
  --step_frames_;
}

bool PageTable::CommitWouldThin() const { return entries() > config_.trajectory_frames; }

void PageTable::Commit() {
  Check(open_ && step_frames_ > 0, ErrorCode::kInternal,
        "a step of the cache was committed that holds no frame");
  CheckRoom(step_frames_);
  EvictFrames();
  stored_ += step_frames_;
  step_frames_ = 0;
  open_ = false;
  if (CommitWouldThin()) Thin();
}

void PageTable::Thin() {
  const int64_t scale = static_cast<int64_t>(state_.scale.size());
  const int64_t older_half = (entries() - scale) / 2;
  for (int64_t i = 1; i < older_half; i += 2) dropped_.push_back(scale + i);
  ForEachMove(dropped_, entries(),
              [&](int64_t from, int64_t to) { entries_[to] = entries_[from]; });
  entries_.resize(entries_.size() - dropped_.size());
}

void PageTable::Discard() noexcept {
  if (!open_) return;
  state_ = saved_;  // same sizes or smaller: no allocation
  entries_.resize(entries_.size() - static_cast<size_t>(step_frames_));
  evicted_.clear();
  step_frames_ = 0;
  open_ = false;
}

int64_t PageTable::special_pages() const { return PagesFor(special_tokens(), config_.page_size); }

void PageTable::VisiblePages(std::vector<int32_t>* pages) const {
  pages->assign(state_.scale.begin(), state_.scale.end());
  for (int i = 0; i < state_.window; ++i) {
    pages->push_back(state_.ring[static_cast<size_t>(state_.head + i) % state_.ring.size()]);
  }
  const int64_t specials = special_pages();
  for (int64_t i = 0; i < specials; ++i) {
    pages->push_back(patch_pages_ + static_cast<int32_t>(i));
  }
}

int64_t PageTable::last_page_len() const {
  const int64_t rest = special_tokens() % config_.page_size;
  return rest == 0 ? config_.page_size : rest;
}

TokenPlace PageTable::SpecialPlace(int64_t index) const {
  return {patch_pages_ + static_cast<int32_t>(index / config_.page_size),
          index % config_.page_size};
}

CacheStats PageTable::stats() const {
  CacheStats stats;
  stats.stored_frames = stored_;
  stats.scale_pages = static_cast<int64_t>(state_.scale.size());
  stats.window_pages = state_.window;
  stats.special_tokens = special_tokens();
  stats.time_index = stored_;
  stats.special_pages = special_pages();
  stats.last_page_len = last_page_len();
  stats.retained_frames = entries();
  stats.free_pages = static_cast<int64_t>(state_.free.size());
  return stats;
}

}  // namespace lingbot
