#include "geometry/window_layout.h"

#include <algorithm>

#include "base/check.h"

namespace lingbot {
namespace {

void CheckOptions(const WindowOptions& options) {
  Check(options.scale_frames >= 1 && options.keyframe_interval >= 1, ErrorCode::kInvalidArgument,
        "windowed mode needs at least 1 scale frame and a keyframe interval of at least 1, not {} "
        "and {}",
        options.scale_frames, options.keyframe_interval);
  Check(
      options.window_size >= options.scale_frames, ErrorCode::kInvalidArgument,
      "window size {} is smaller than the {} scale frames that every window starts with; raise the "
      "window size or lower the scale frames",
      options.window_size, options.scale_frames);
  Check(options.overlap_size >= 0 && options.overlap_keyframes >= 0, ErrorCode::kInvalidArgument,
        "the overlap of two windows cannot be negative ({} frames, {} keyframes)",
        options.overlap_size, options.overlap_keyframes);
  Check(options.overlap_size == 0 || options.overlap_keyframes == 0, ErrorCode::kInvalidArgument,
        "the overlap is given twice, as {} frames and as {} keyframes; give one of them",
        options.overlap_size, options.overlap_keyframes);
}

int64_t OverlapOf(const WindowOptions& options) {
  if (options.overlap_size > 0) return options.overlap_size;
  return std::max<int64_t>(options.scale_frames,
                           int64_t{options.overlap_keyframes} * options.keyframe_interval);
}

}  // namespace

WindowLayout PlanWindows(const WindowOptions& options) {
  CheckOptions(options);
  WindowLayout layout;
  layout.scale_frames = options.scale_frames;
  layout.keyframe_interval = options.keyframe_interval;
  layout.window = options.scale_frames +
                  int64_t{options.window_size - options.scale_frames} * options.keyframe_interval;
  layout.overlap = OverlapOf(options);
  Check(layout.overlap < layout.window, ErrorCode::kInvalidArgument,
        "an overlap of {} frames does not fit into windows of {} frames (window size {}, {} scale "
        "frames, "
        "keyframe interval {}); raise the window size or lower the overlap",
        layout.overlap, layout.window, options.window_size, options.scale_frames,
        options.keyframe_interval);
  layout.step = layout.window - layout.overlap;
  return layout;
}

// The overlap needs no cap for short streams: one of at most `overlap` < `window` frames is a
// single window.
std::vector<WindowSpan> SplitIntoWindows(const WindowLayout& layout, int64_t frames) {
  Check(frames > 0, ErrorCode::kNoInput, "a stream of {} frames has no windows", frames);
  std::vector<WindowSpan> spans;
  for (int64_t begin = 0;; begin += layout.step) {
    if (frames - begin <= layout.window) {
      spans.push_back({begin, frames, frames});
      return spans;
    }
    spans.push_back({begin, begin + layout.window, begin + layout.step});
  }
}

OverlapPlan PlanOverlap(const WindowLayout& layout) {
  OverlapPlan plan;
  for (int64_t i = 0; i < layout.overlap; ++i) {
    if (layout.IsKeyframe(i) && layout.IsKeyframe(layout.step + i)) plan.scale_frames.push_back(i);
  }
  if (plan.scale_frames.empty()) plan.scale_frames.push_back(0);
  plan.anchor = plan.scale_frames.back();
  return plan;
}

}  // namespace lingbot
