#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/system_memory.h"
#include "engine/session_impl.h"
#include "geometry/window_alignment.h"
#include "geometry/window_layout.h"

namespace lingbot {
namespace {

WindowLayout LayoutOf(const StreamPlan& plan, const SessionOptions& options,
                      const WindowedOptions& windows) {
  WindowOptions layout;
  layout.scale_frames = plan.scale_frames;
  layout.window_size = windows.window_size;
  layout.keyframe_interval = options.keyframe_interval;
  layout.overlap_size = windows.overlap_frames;
  layout.overlap_keyframes = windows.overlap_keyframes;
  return PlanWindows(layout);
}

// The session's plan and what the overlaps keep: an image, and two results (one of either window),
// per frame.
MemoryPlan PlanWithOverlap(MemoryPlan plan, int height, int width, const WindowLayout& layout,
                           const SessionOptions& options) {
  const uint64_t floats_per_pixel = 3 + 2 * 2;
  plan.results += static_cast<uint64_t>(layout.overlap) * static_cast<uint64_t>(height) *
                  static_cast<uint64_t>(width) * floats_per_pixel * sizeof(float);
  Check(options.memory_limit == 0 || plan.total() <= options.memory_limit, ErrorCode::kOutOfMemory,
        "windows that overlap by {} frames of {}x{} need {} of memory, but {} is the limit; a "
        "smaller "
        "overlap or image needs less",
        layout.overlap, width, height, FormatBytes(plan.total()),
        FormatBytes(options.memory_limit));
  return plan;
}

// A result that outlives the callback which brought it.
struct KeptResult {
  FrameResult frame;
  std::vector<float> depth;
  std::vector<float> confidence;

  void Keep(const FrameResult& result) {
    frame = result;
    depth.assign(result.depth.begin(), result.depth.end());
    confidence.assign(result.confidence.begin(), result.confidence.end());
    frame.depth = depth;
    frame.confidence = confidence;
  }
};

WindowTransform Report(const WindowAlignment& alignment, int64_t first_frame) {
  WindowTransform transform;
  transform.first_frame = first_frame;
  transform.scale = alignment.scale;
  const Eigen::Matrix3d rotation = alignment.rotation.toRotationMatrix();
  for (int row = 0; row < 3; ++row) {
    transform.world_from_window.center[row] = alignment.translation[row];
    for (int column = 0; column < 3; ++column) {
      transform.world_from_window.rotation[row * 3 + column] = rotation(row, column);
    }
  }
  return transform;
}

}  // namespace

// Runs window after window on one session. A window's transform is known once its overlap frames,
// which are its first, have been processed; from then on its frames are aligned and passed on as
// they come. Its last `overlap` frames are kept: if another window follows, they only serve to
// align it (and are processed again as part of it), else they end the result.
class WindowedSession::Impl {
 public:
  Impl(const Model& model, int height, int width, const SessionOptions& options,
       const WindowedOptions& windows)
      : session_(model, height, width, options),
        layout_(LayoutOf(session_.stream().plan(), options, windows)),
        plan_(PlanOverlap(layout_)),
        memory_(PlanWithOverlap(session_.memory_plan(), height, width, layout_, options)),
        images_(layout_.overlap),
        pending_(layout_.overlap),
        kept_(layout_.overlap) {
    transforms_.push_back(Report({}, 0));
  }

  void Add(std::span<const float> rgb, const ResultCallback& on_result) {
    session_.CheckFrame(rgb);
    Check(!finished_, ErrorCode::kInvalidArgument, "a frame was added to a finished stream");
    if (fed_ == layout_.window) StartNextWindow(on_result);
    Feed(rgb, on_result);
  }

  void Finish(const ResultCallback& on_result) {
    if (finished_) return;
    session_.Finish([&](const FrameResult& result) { Receive(result, on_result); });
    finished_ = true;
    for (int64_t local = layout_.step; local < fed_; ++local) {
      on_result(kept_[local - layout_.step].frame);
    }
  }

  Session::Impl& session() { return session_; }
  const std::vector<WindowTransform>& transforms() const { return transforms_; }
  const MemoryPlan& memory_plan() const { return memory_; }

 private:
  int64_t first_frame() const { return layout_.Begin(window_); }

  void StartNextWindow(const ResultCallback& on_result) {
    session_.Reset();
    ++window_;
    fed_ = 0;
    for (int64_t local = 0; local < layout_.overlap; ++local) Feed(images_[local], on_result);
  }

  void Feed(std::span<const float> rgb, const ResultCallback& on_result) {
    session_.Add(rgb, [&](const FrameResult& result) { Receive(result, on_result); });
    // Where windows overlap by more than a step, a kept image moves forward in its own array.
    if (fed_ >= layout_.step) {
      images_[fed_ - layout_.step] = std::vector<float>(rgb.begin(), rgb.end());
    }
    ++fed_;
  }

  // A result of the current window, not aligned yet; its index counts from the window's start.
  void Receive(const FrameResult& result, const ResultCallback& on_result) {
    if (window_ == 0 || result.index >= layout_.overlap) return Deliver(result, on_result);
    pending_[result.index].Keep(result);
    if (result.index + 1 < layout_.overlap) return;
    Align();
    for (const KeptResult& kept : pending_) Deliver(kept.frame, on_result);
  }

  void Align() {
    std::vector<DepthPair> pairs;
    for (const int64_t frame : plan_.scale_frames) {
      pairs.push_back({kept_[frame].depth, pending_[frame].depth});
    }
    alignment_ = AlignWindow(kept_[plan_.anchor].frame.pose, pending_[plan_.anchor].frame.pose,
                             MedianDepthScale(pairs));
    transforms_.push_back(Report(alignment_, first_frame()));
  }

  void Deliver(FrameResult result, const ResultCallback& on_result) {
    const int64_t local = result.index;
    scaled_depth_.assign(result.depth.begin(), result.depth.end());
    AlignDepth(alignment_, scaled_depth_);
    result.depth = scaled_depth_;
    result.pose = AlignPose(alignment_, result.pose);
    result.index = first_frame() + local;
    if (local >= layout_.step) {
      kept_[local - layout_.step].Keep(result);
    } else {
      on_result(result);
    }
  }

  Session::Impl session_;
  WindowLayout layout_;
  OverlapPlan plan_;
  MemoryPlan memory_;
  int64_t window_ = 0;
  int64_t fed_ = 0;  // frames given to the current window
  bool finished_ = false;
  WindowAlignment alignment_;  // of the current window
  std::vector<WindowTransform> transforms_;
  std::vector<std::vector<float>> images_;  // [overlap] the current window's last frames
  std::vector<KeptResult> pending_;  // [overlap] the current window's first results, not aligned
  std::vector<KeptResult> kept_;     // [overlap] the current window's last results, aligned; until
                                     // Align, those of the previous window
  std::vector<float> scaled_depth_;
};

WindowedSession::WindowedSession(const Model& model, int height, int width,
                                 const SessionOptions& options, const WindowedOptions& windows)
    : impl_(std::make_unique<Impl>(model, height, width, options, windows)) {}
WindowedSession::~WindowedSession() = default;
WindowedSession::WindowedSession(WindowedSession&&) noexcept = default;
WindowedSession& WindowedSession::operator=(WindowedSession&&) noexcept = default;

void WindowedSession::Add(std::span<const float> rgb, const ResultCallback& on_result) {
  impl_->Add(rgb, on_result);
}
void WindowedSession::Finish(const ResultCallback& on_result) { impl_->Finish(on_result); }
const std::vector<WindowTransform>& WindowedSession::transforms() const {
  return impl_->transforms();
}
const MemoryPlan& WindowedSession::memory_plan() const { return impl_->memory_plan(); }
CacheOccupancy WindowedSession::occupancy() const { return impl_->session().occupancy(); }
AttentionBackend WindowedSession::attention() const {
  return impl_->session().stream().plan().setup.attention;
}
const StageTimes& WindowedSession::last_step() const { return impl_->session().stream().times(); }

}  // namespace lingbot
