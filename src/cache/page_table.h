#ifndef LINGBOT_CACHE_PAGE_TABLE_H_
#define LINGBOT_CACHE_PAGE_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_stream.h"

namespace lingbot {

struct PageTableConfig {
  int64_t page_size = 0;       // patch tokens of a frame, P
  int specials_per_frame = 6;  // camera (1), registers (4), scale (1)
  int scale_frames = 8;        // most frames of the first step; their patch pages are never evicted
  int sliding_window = 64;     // later frames whose patch pages stay visible
  int trajectory_frames = 1024;  // most frames whose special tokens are kept
  bool strict = false;           // refuse a frame beyond trajectory_frames instead of thinning
};

// What the table holds. While a step is open its frames count among the pages and tokens, but not
// among the stored frames.
struct CacheStats {
  int64_t stored_frames = 0;  // committed since the start of the stream, thinned ones included
  int64_t scale_pages = 0;
  int64_t window_pages = 0;
  int64_t special_tokens = 0;  // specials_per_frame * retained_frames
  int64_t time_index = 0;      // of the next frame in rotary embedding: stored_frames
  int64_t special_pages = 0;
  int64_t last_page_len = 0;    // tokens in the last visible page
  int64_t retained_frames = 0;  // trajectory entries: frames whose special tokens are kept
  int64_t free_pages = 0;       // patch pages that hold no frame

  friend bool operator==(const CacheStats&, const CacheStats&) = default;
};

// Where one token lies.
struct TokenPlace {
  int32_t page = 0;
  int64_t token = 0;  // inside the page
};

// Where a frame's tokens go.
struct FrameSlot {
  int32_t page = 0;           // of its patch tokens
  int64_t first_special = 0;  // index of its first special token in the special stream
};

// Which frame lives in which page: integers only, no memory and no device.
//
// Page ids 0 .. patch_pages()-1 are patch pages, one frame each; the ids after them are special
// pages, over which the special tokens of all retained frames are packed densely. Changes happen in
// steps. The first step of a stream takes up to scale_frames frames, every other step one; a step
// ends in Commit or Discard, and Discard restores the table exactly, order of pages and of the free
// list included. After construction nothing here allocates.
class PageTable {
 public:
  // Throws kInvalidArgument on sizes below 1, on trajectory_frames that cannot hold the scale
  // frames (and, unless strict, the 3 later frames that the thinning rule always leaves), and on
  // page counts beyond int32.
  explicit PageTable(const PageTableConfig& config);

  // Opens a step. Throws kInternal if one is open.
  void Begin();
  // Throws kTrajectoryFull if `strict` and `frames` more stored frames would exceed
  // trajectory_frames.
  void CheckRoom(int frames) const;
  // Adds a frame to the open step, without evicting. Throws kInvalidArgument if the step is full.
  FrameSlot AppendFrame();
  // Frees the oldest window pages beyond the window, O(1) (a step can exceed the window by one page
  // only). Never scale pages, never special tokens. Called late, it is the execution of a deferred
  // eviction.
  void EvictFrames();
  // Takes the last frame of the open step back, and with it the eviction it caused. The step stays
  // open.
  void RollbackLastFrame();
  // Makes the step's frames stored ones, runs an eviction that is still due and thins the
  // trajectory if it has outgrown its budget. Throws (kInternal without frames, kTrajectoryFull as
  // CheckRoom) before changing anything.
  void Commit();
  // Returns to the state at Begin and closes the step; nothing to do when none is open.
  void Discard() noexcept;
  // The empty state, as constructed; closes an open step.
  void Reset() noexcept;

  // The state between steps, and back; a table of the same configuration then behaves the same for
  // ever. Load throws kCorruptFile for a state that no stream leads to, and then changes nothing.
  // Both throw kInternal inside an open step.
  void Save(ByteSink& sink) const;
  void Load(ByteSource& source);

  bool open() const { return open_; }
  int step_frames() const { return step_frames_; }
  bool first_step() const { return stored_ == 0; }
  int64_t stored_frames() const { return stored_; }
  CacheStats stats() const;

  int32_t patch_pages() const { return patch_pages_; }
  int32_t max_pages() const { return max_pages_; }  // patch and special pages
  int64_t max_entries() const { return max_entries_; }
  int64_t entries() const { return static_cast<int64_t>(entries_.size()); }

  // Writes the visible pages to *pages: scale pages, window pages oldest first, special pages.
  void VisiblePages(std::vector<int32_t>* pages) const;
  // Tokens in the last visible page, in [1, page_size]. Only the last special page can be partly
  // filled.
  int64_t last_page_len() const;
  // Place of token `index` of the special stream.
  TokenPlace SpecialPlace(int64_t index) const;

  // Time index of each retained frame, in the order of the special stream (by age).
  std::span<const int64_t> retained_frames() const { return entries_; }
  // Free patch pages; the last one is handed out next.
  std::span<const int32_t> free_pages() const { return state_.free; }
  // Patch pages freed by eviction in this step, or in the last one when none is open.
  std::span<const int32_t> evicted_pages() const { return evicted_; }
  // Whether Commit would thin, and the entries (positions in the special stream, ascending) that
  // the last Commit dropped.
  bool CommitWouldThin() const;
  std::span<const int64_t> dropped_entries() const { return dropped_; }

 private:
  struct State {
    std::vector<int32_t> scale;
    std::vector<int32_t> ring;  // window pages, oldest at `head`
    int head = 0;
    int window = 0;
    std::vector<int32_t> free;  // a stack, so that undoing an append restores the order
  };

  void CheckLoaded(const ByteSource& source, const State& state,
                   const std::vector<int64_t>& entries, int64_t stored) const;
  void Thin();
  int step_capacity() const { return first_step() ? config_.scale_frames : 1; }
  int64_t special_tokens() const { return entries() * config_.specials_per_frame; }
  int64_t special_pages() const;

  PageTableConfig config_;
  int64_t max_entries_ = 0;
  int32_t patch_pages_ = 0;
  int32_t max_pages_ = 0;

  State state_;
  State saved_;  // state_ at Begin
  std::vector<int64_t> entries_;
  int64_t stored_ = 0;
  int step_frames_ = 0;
  bool open_ = false;
  std::vector<int32_t> evicted_;
  std::vector<int64_t> dropped_;
};

// Calls move(from, to) for every entry that closes ranks when `dropped` (ascending) leave a
// sequence of `entries`; in ascending order with to < from, so that moving in place loses nothing.
template <typename Move>
void ForEachMove(std::span<const int64_t> dropped, int64_t entries, Move&& move) {
  if (dropped.empty()) return;
  int64_t to = dropped.front();
  size_t next = 0;
  for (int64_t from = to; from < entries; ++from) {
    if (next < dropped.size() && dropped[next] == from) {
      ++next;
    } else {
      move(from, to++);
    }
  }
}

}  // namespace lingbot

#endif  // LINGBOT_CACHE_PAGE_TABLE_H_
