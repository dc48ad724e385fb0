#ifndef LINGBOT_GEOMETRY_WINDOW_LAYOUT_H_
#define LINGBOT_GEOMETRY_WINDOW_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace lingbot {

// How a long stream is cut into windows that are processed as streams of their own.
struct WindowOptions {
  int scale_frames = 8;
  int window_size = 64;  // keyframes per window, the scale frames included
  int keyframe_interval = 1;
  // Frames shared by neighbours: `overlap_size` frames, or `overlap_keyframes` * keyframe_interval
  // but at least scale_frames. At most one may be set; with neither it is scale_frames.
  int overlap_size = 0;
  int overlap_keyframes = 0;
};

// Numbers that hold for every window, whatever the stream's length.
struct WindowLayout {
  int64_t scale_frames;
  int64_t keyframe_interval;
  int64_t window;   // frames per window
  int64_t overlap;  // frames shared by neighbours, < window
  int64_t step;     // window k starts at frame k * step; step + overlap = window

  int64_t Begin(int64_t k) const { return k * step; }

  // `local` counts from the window's first frame.
  bool IsKeyframe(int64_t local) const {
    return local < scale_frames || (local - scale_frames) % keyframe_interval == 0;
  }
};

// Frames [begin, end) are processed; [begin, emit_end) appear in the result, the rest is left to
// the next window.
struct WindowSpan {
  int64_t begin;
  int64_t end;
  int64_t emit_end;
};

// Which frames decide how a window is brought into its predecessor's frame. Indices count from the
// first overlap frame, which is the window's first frame and the predecessor's frame `step`.
// Because all windows start a multiple of `step` apart, one plan serves all pairs.
struct OverlapPlan {
  int64_t anchor;  // the frame whose two poses give rotation and translation
  std::vector<int64_t>
      scale_frames;  // the frames whose depths give the scale, ascending, never empty
};

// Throws kInvalidArgument for counts out of range, window_size < scale_frames, both kinds of
// overlap, or an overlap that does not fit into a window.
WindowLayout PlanWindows(const WindowOptions& options);

// Windows of a stream of `frames` frames. Window k is the last if it reaches the end; it is
// clipped, not shifted. Online the same is known one frame late: window k is followed by another
// exactly if frame Begin(k) + window exists. `frames` must be positive (kNoInput otherwise).
std::vector<WindowSpan> SplitIntoWindows(const WindowLayout& layout, int64_t frames);

// Anchor: the latest overlap frame that is a keyframe in both windows, else the first overlap
// frame. Scale: all such frames, else the first overlap frame alone.
OverlapPlan PlanOverlap(const WindowLayout& layout);

}  // namespace lingbot

#endif  // LINGBOT_GEOMETRY_WINDOW_LAYOUT_H_
