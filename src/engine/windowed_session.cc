#include <algorithm>
#include <exception>
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

const SessionOptions& WithoutMotion(const SessionOptions& options) {
  Check(options.keyframe_motion == 0, ErrorCode::kInvalidArgument,
        "keyframe_motion ({}) does not go with windows: they are aligned by frames that are "
        "keyframes in both, which must be known beforehand; use a keyframe_interval",
        options.keyframe_motion);
  return options;
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

  void Save(ByteSink& sink) const;
  // `pixels`: of a frame, where there is one.
  void Load(ByteSource& source, size_t pixels);
};

void WriteResult(ByteSink& sink, const FrameResult& frame) {
  const CacheOccupancy& cache = frame.cache;
  for (const int64_t number : {frame.index, int64_t{frame.height}, int64_t{frame.width},
                               cache.stored_frames, cache.scale_pages, cache.window_pages,
                               cache.special_tokens, cache.special_pages, cache.last_page_length}) {
    WriteValue(sink, number);
  }
  WriteValue<uint8_t>(sink, frame.keyframe ? 1 : 0);
  sink.Write(frame.pose.data(), sizeof(frame.pose));
}

FrameResult ReadResult(ByteSource& source) {
  FrameResult frame;
  CacheOccupancy& cache = frame.cache;
  frame.index = ReadValue<int64_t>(source);
  frame.height = static_cast<int>(ReadValue<int64_t>(source));
  frame.width = static_cast<int>(ReadValue<int64_t>(source));
  for (int64_t* number : {&cache.stored_frames, &cache.scale_pages, &cache.window_pages,
                          &cache.special_tokens, &cache.special_pages, &cache.last_page_length}) {
    *number = ReadValue<int64_t>(source);
  }
  frame.keyframe = ReadFlag(source, "whether a frame is a keyframe");
  source.Read(frame.pose.data(), sizeof(frame.pose));
  return frame;
}

template <typename T, size_t N>
void WriteNumbers(ByteSink& sink, const std::array<T, N>& numbers) {
  sink.Write(numbers.data(), sizeof(numbers));
}

void WriteTransform(ByteSink& sink, const WindowTransform& transform) {
  WriteValue(sink, transform.first_frame);
  WriteValue(sink, transform.scale);
  WriteNumbers(sink, transform.world_from_window.rotation);
  WriteNumbers(sink, transform.world_from_window.center);
}

WindowTransform ReadTransform(ByteSource& source) {
  WindowTransform transform;
  transform.first_frame = ReadValue<int64_t>(source);
  transform.scale = ReadValue<double>(source);
  WorldFromCamera& pose = transform.world_from_window;
  source.Read(pose.rotation.data(), sizeof(pose.rotation));
  source.Read(pose.center.data(), sizeof(pose.center));
  return transform;
}

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

void KeptResult::Save(ByteSink& sink) const {
  WriteResult(sink, frame);
  WriteList(sink, depth.data(), depth.size());
  WriteList(sink, confidence.data(), confidence.size());
}

void KeptResult::Load(ByteSource& source, size_t pixels) {
  frame = ReadResult(source);
  depth = ReadList<float>(source, "a kept depth", pixels);
  confidence = ReadList<float>(source, "a kept confidence", pixels);
  const size_t expected = depth.empty() ? 0 : pixels;
  Check(depth.size() == expected && confidence.size() == expected, ErrorCode::kCorruptFile,
        "{} is damaged: a kept frame has {} depths and {} confidences; expected {}", source.name(),
        depth.size(), confidence.size(), pixels);
  frame.depth = depth;
  frame.confidence = confidence;
}

// The caller's callback, which must not keep the next window from what it needs: after an exception
// nothing more is passed on, and Rethrow has it leave once the session's state is complete.
class CallbackGuard {
 public:
  explicit CallbackGuard(const ResultCallback& callback) : callback_(callback) {}

  void operator()(const FrameResult& result) {
    if (!callback_ || problem_) return;
    try {
      callback_(result);
    } catch (...) {
      problem_ = std::current_exception();
    }
  }
  void Rethrow() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  const ResultCallback& callback_;
  std::exception_ptr problem_;
};

// A window takes thousands of frames: more windows than this are damage.
constexpr int64_t kMostWindows = int64_t{1} << 32;

}  // namespace

// Runs window after window on one session. A window's transform is known once its overlap frames,
// which are its first, have been processed; from then on its frames are aligned and passed on as
// they come. Its last `overlap` frames are kept: if another window follows, they only serve to
// align it (and are processed again as part of it), else they end the result.
class WindowedSession::Impl {
 public:
  Impl(const Model& model, int height, int width, const SessionOptions& options,
       const WindowedOptions& windows)
      : session_(model, height, width, WithoutMotion(options)),
        windows_(windows),
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
    CallbackGuard guard(on_result);
    if (fed_ == layout_.window) StartNextWindow();
    // Also where an earlier call failed in between.
    while (window_ > 0 && fed_ < layout_.overlap) Feed(images_[fed_], guard);
    Feed(rgb, guard);
    guard.Rethrow();
  }

  void Finish(const ResultCallback& on_result) {
    if (finished_) return;
    CallbackGuard guard(on_result);
    // A window that failed before its place was known adds nothing: the frames it was to redo stand
    // as the window before has them.
    const bool placed = window_ == 0 || fed_ >= layout_.overlap;
    if (placed) {
      session_.Finish([&](const FrameResult& result) { Receive(result, guard); });
    }
    finished_ = true;
    const int64_t end = placed ? fed_ : layout_.window;
    for (int64_t local = layout_.step; local < end; ++local) {
      guard(kept_[local - layout_.step].frame);
    }
    guard.Rethrow();
  }

  void Reset() {
    session_.Reset();
    window_ = 0;
    fed_ = 0;
    finished_ = false;
    alignment_ = {};
    transforms_.assign(1, Report({}, 0));
  }

  SnapshotInfo Describe() const {
    SnapshotInfo info = session_.Describe();
    info.windowed = true;
    info.windows = windows_;
    info.frames = first_frame() + fed_;
    return info;
  }

  void SaveState(ByteSink& sink);
  void LoadState(ByteSource& source);

  Session::Impl& session() { return session_; }
  const std::vector<WindowTransform>& transforms() const { return transforms_; }
  const MemoryPlan& memory_plan() const { return memory_; }

 private:
  int64_t first_frame() const { return layout_.Begin(window_); }

  void StartNextWindow() {
    session_.Reset();
    ++window_;
    fed_ = 0;
  }

  void Feed(std::span<const float> rgb, CallbackGuard& on_result) {
    session_.Add(rgb, [&](const FrameResult& result) { Receive(result, on_result); });
    // Where windows overlap by more than a step, a kept image moves forward in its own array.
    if (fed_ >= layout_.step) {
      images_[fed_ - layout_.step] = std::vector<float>(rgb.begin(), rgb.end());
    }
    ++fed_;
  }

  // A result of the current window, not aligned yet; its index counts from the window's start.
  void Receive(const FrameResult& result, CallbackGuard& on_result) {
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

  void Deliver(FrameResult result, CallbackGuard& on_result) {
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

  size_t pixels() const {
    const StreamPlan& plan = session_.stream().plan();
    return size_t{1} * plan.height * plan.width;
  }
  void CheckLoaded(const ByteSource& source) const;

  Session::Impl session_;
  WindowedOptions windows_;
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

void WindowedSession::Impl::SaveState(ByteSink& sink) {
  WriteValue(sink, window_);
  WriteValue(sink, fed_);
  WriteValue<uint8_t>(sink, finished_ ? 1 : 0);
  WriteValue(sink, alignment_.scale);
  sink.Write(alignment_.rotation.coeffs().data(), 4 * sizeof(double));
  sink.Write(alignment_.translation.data(), 3 * sizeof(double));
  WriteValue(sink, static_cast<uint64_t>(transforms_.size()));
  for (const WindowTransform& transform : transforms_) WriteTransform(sink, transform);
  for (const std::vector<float>& image : images_) WriteList(sink, image.data(), image.size());
  for (const KeptResult& result : pending_) result.Save(sink);
  for (const KeptResult& result : kept_) result.Save(sink);
  session_.SaveState(sink);
}

void WindowedSession::Impl::LoadState(ByteSource& source) {
  window_ = ReadInRange<int64_t>(source, "the number of windows", 0, kMostWindows);
  fed_ = ReadInRange<int64_t>(source, "the frames of a window", 0, layout_.window);
  finished_ = ReadFlag(source, "whether the stream has ended");
  alignment_.scale = ReadValue<double>(source);
  source.Read(alignment_.rotation.coeffs().data(), 4 * sizeof(double));
  source.Read(alignment_.translation.data(), 3 * sizeof(double));
  const auto transforms = ReadInRange<uint64_t>(
      source, "the number of transforms", 1,
      std::min<uint64_t>(window_ + 1, source.left() / sizeof(WindowTransform)));
  transforms_.clear();
  for (uint64_t i = 0; i < transforms; ++i) transforms_.push_back(ReadTransform(source));
  for (std::vector<float>& image : images_) {
    image = ReadList<float>(source, "a kept image", 3 * pixels());
  }
  for (KeptResult& result : pending_) result.Load(source, pixels());
  for (KeptResult& result : kept_) result.Load(source, pixels());
  session_.LoadState(source);
  CheckLoaded(source);
}

// What later steps rely on.
void WindowedSession::Impl::CheckLoaded(const ByteSource& source) const {
  const auto check = [&](bool holds, const char* what) {
    Check(holds, ErrorCode::kCorruptFile, "{} is damaged: {}", source.name(), what);
  };
  const SnapshotInfo session = session_.Describe();
  check(session.frames == fed_, "its window and its session hold different frames");
  for (int64_t local = layout_.step; local < fed_; ++local) {
    check(images_[local - layout_.step].size() == 3 * pixels(), "a kept image is missing");
  }
}

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
void WindowedSession::Save(const std::filesystem::path& path, const std::string& note,
                           const SnapshotSaver& more) const {
  SaveSnapshot(path, impl_->Describe(), note, more,
               [this](ByteSink& sink) { impl_->SaveState(sink); });
}
void WindowedSession::Load(const std::filesystem::path& path, const SnapshotLoader& more) {
  LoadSnapshot(
      path, impl_->Describe(), more, [this](ByteSource& source) { impl_->LoadState(source); },
      [this] { impl_->Reset(); });
}
const std::vector<WindowTransform>& WindowedSession::transforms() const {
  return impl_->transforms();
}
const MemoryPlan& WindowedSession::memory_plan() const { return impl_->memory_plan(); }
CacheOccupancy WindowedSession::occupancy() const { return impl_->session().occupancy(); }
AttentionBackend WindowedSession::attention() const {
  return impl_->session().stream().plan().setup.attention;
}
Session::Impl& WindowedSession::session_impl() { return impl_->session(); }
const StageTimes& WindowedSession::last_step() const { return impl_->session().stream().times(); }

}  // namespace lingbot
