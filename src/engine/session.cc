#include "lingbot/session.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "engine/session_impl.h"

namespace lingbot {
namespace {

StreamPlan CheckedPlan(const Model& model, int height, int width, const SessionOptions& options) {
  CheckSessionMemory(model.info(), height, width, options);
  return PlanStream(model.info(), height, width, options);
}

// A stream of 1,000 years: a longer one is damage.
constexpr int64_t kMostFrames = int64_t{1} << 40;

size_t FrameBytes(const StreamPlan& plan) {
  return size_t{3} * plan.height * plan.width * sizeof(float);
}

}  // namespace

Session::Impl::Impl(const Model& model, int height, int width, const SessionOptions& options)
    : options_(options),
      memory_(PlanMemory(model.info(), height, width, options)),
      stream_(model.impl(), CheckedPlan(model, height, width, options)) {
  if (options.keyframe_motion > 0) keyframe_ = Keyframe{0, MotionReference(height, width)};
}

// The stored frames of spec "Streaming": all scale frames, then every keyframe_interval-th, or as
// motion has it.
StepKind Session::Impl::KindOf(int64_t frame) const {
  const int scale_frames = stream_.plan().scale_frames;
  if (frame < scale_frames) return StepKind::kStored;
  if (keyframe_) return StepKind::kUndecided;
  return (frame - scale_frames) % options_.keyframe_interval == 0 ? StepKind::kStored
                                                                  : StepKind::kTransient;
}

// What has no finite pose is never stored: all later frames would attend to it. Where the motion
// cannot be told for another reason, the gap alone decides.
bool Session::Impl::KeepByMotion() const {
  const PoseEncoding& pose = stream_.result(0).pose;
  if (!std::all_of(pose.begin(), pose.end(), [](float v) { return std::isfinite(v); })) {
    return false;
  }
  if (next_frame_ - keyframe_->index >= options_.keyframe_max_gap) return true;
  const std::optional<double> motion = keyframe_->reference.MotionTo(pose);
  return motion && *motion > options_.keyframe_motion;
}

void Session::Impl::CheckFrame(std::span<const float> rgb) const {
  const StreamPlan& plan = stream_.plan();
  const size_t expected = size_t{3} * plan.height * plan.width;
  Check(rgb.size() == expected, ErrorCode::kShapeMismatch,
        "frame {} has {} values; this session takes 3 x {} x {} = {}", next_frame_ + held_,
        rgb.size(), plan.height, plan.width, expected);
  const bool finite = std::all_of(rgb.begin(), rgb.end(), [](float v) { return std::isfinite(v); });
  Check(finite, ErrorCode::kInvalidArgument,
        "frame {} holds a value that is not finite; expected colours between 0 and 1",
        next_frame_ + held_);
}

void Session::Impl::Add(std::span<const float> rgb, const ResultCallback& on_result) {
  CheckFrame(rgb);
  Check(!finished_, ErrorCode::kInvalidArgument,
        "a frame was added to a finished stream; Reset() starts a new one");
  const int slot = collecting() ? held_ : 0;
  std::copy(rgb.begin(), rgb.end(), stream_.input()[slot].data<float>());
  if (collecting() && held_ + 1 < stream_.plan().scale_frames) {
    ++held_;
    return;
  }
  const int frames = held_ + 1;
  const bool stored = Compute(frames);
  Deliver(frames, stored, on_result);
}

void Session::Impl::Finish(const ResultCallback& on_result) {
  const int frames = held_;
  const bool stored = frames > 0 && Compute(frames);
  finished_ = true;
  Deliver(frames, stored, on_result);
}

bool Session::Impl::Compute(int frames) {
  const bool stored =
      stream_.Step(next_frame_, frames, KindOf(next_frame_), [this] { return KeepByMotion(); });
  next_frame_ += frames;
  held_ = 0;
  if (stored && keyframe_) {
    const StreamResult last = stream_.result(frames - 1);
    keyframe_->index = next_frame_ - 1;
    keyframe_->reference.Set(last.pose, last.depth);
  }
  return stored;
}

void Session::Impl::Deliver(int frames, bool stored, const ResultCallback& on_result) {
  if (!on_result) return;
  for (int i = 0; i < frames; ++i) {
    on_result(ResultOf(i, next_frame_ - frames + i, stored));
  }
}

FrameResult Session::Impl::ResultOf(int frame, int64_t index, bool keyframe) const {
  const StreamResult computed = stream_.result(frame);
  FrameResult result;
  result.index = index;
  result.keyframe = keyframe;
  result.height = stream_.plan().height;
  result.width = stream_.plan().width;
  result.pose = computed.pose;
  result.depth = computed.depth;
  result.confidence = computed.confidence;
  result.cache = occupancy();
  return result;
}

// After a stream that ended before its scale frames were complete, a frame still counts as one that
// follows them.
FrameResult Session::Impl::Localize(std::span<const float> rgb) {
  CheckFrame(rgb);
  const int scale_frames = stream_.plan().scale_frames;
  Check(!collecting(), ErrorCode::kInvalidArgument,
        "there is no map to localise a frame in: {} of {} scale frames were added", held_,
        scale_frames);
  std::copy(rgb.begin(), rgb.end(), stream_.input()[0].data<float>());
  stream_.Step(std::max<int64_t>(next_frame_, scale_frames), 1, StepKind::kTransient);
  return ResultOf(0, next_frame_, /*keyframe=*/false);
}

void Session::Impl::Reset() {
  stream_.Reset();
  held_ = 0;
  next_frame_ = 0;
  finished_ = false;
  if (keyframe_) keyframe_->index = 0;
}

SnapshotInfo Session::Impl::Describe() const {
  SnapshotInfo info = DescribeStream(stream_.model_info(), stream_.plan());
  info.options.keyframe_interval = options_.keyframe_interval;
  info.options.keyframe_motion = options_.keyframe_motion;
  if (keyframe_) info.options.keyframe_max_gap = options_.keyframe_max_gap;
  info.frames = next_frame_ + held_;
  return info;
}

void Session::Impl::SaveState(ByteSink& sink) {
  WriteValue<int32_t>(sink, held_);
  WriteValue<int64_t>(sink, next_frame_);
  WriteValue<uint8_t>(sink, finished_ ? 1 : 0);
  for (int i = 0; i < held_; ++i) {
    sink.Write(stream_.input()[i].raw(), FrameBytes(stream_.plan()));
  }
  stream_.cache().Save(sink);
  if (keyframe_) SaveKeyframe(sink);
}

void Session::Impl::SaveKeyframe(ByteSink& sink) const {
  WriteValue<int64_t>(sink, keyframe_->index);
  const PoseEncoding& pose = keyframe_->reference.pose();
  sink.Write(pose.data(), sizeof(pose));
  const std::span<const float> samples = keyframe_->reference.samples();
  sink.Write(samples.data(), samples.size_bytes());
}

void Session::Impl::LoadKeyframe(ByteSource& source) {
  keyframe_->index = ReadInRange<int64_t>(source, "the number of the last keyframe", 0,
                                          std::max<int64_t>(0, next_frame_ - 1));
  PoseEncoding pose;
  source.Read(pose.data(), sizeof(pose));
  std::vector<float> samples(keyframe_->reference.samples().size());
  source.Read(samples.data(), samples.size() * sizeof(float));
  keyframe_->reference.Restore(pose, samples);
}

void Session::Impl::LoadState(ByteSource& source) {
  Reset();
  try {
    const auto held = ReadInRange<int32_t>(source, "the number of frames held back", 0,
                                           stream_.plan().scale_frames - 1);
    const auto next = ReadInRange<int64_t>(source, "the number of frames", 0, kMostFrames);
    const bool finished = ReadFlag(source, "whether the stream has ended");
    for (int i = 0; i < held; ++i) {
      source.Read(stream_.input()[i].raw(), FrameBytes(stream_.plan()));
    }
    stream_.LoadCache(source);
    const int64_t stored = stream_.stats().stored_frames;
    Check(stored <= next && (stored == 0) == (next == 0) && (held == 0 || next == 0),
          ErrorCode::kCorruptFile, "{} is damaged: {} frames, {} of them stored and {} held back",
          source.name(), next, stored, held);
    held_ = held;
    next_frame_ = next;
    finished_ = finished;
    if (keyframe_) LoadKeyframe(source);
  } catch (...) {
    Reset();
    throw;
  }
}

CacheOccupancy Session::Impl::occupancy() const {
  const CacheStats& stats = stream_.stats();
  CacheOccupancy occupancy;
  occupancy.stored_frames = stats.stored_frames;
  occupancy.scale_pages = stats.scale_pages;
  occupancy.window_pages = stats.window_pages;
  occupancy.special_tokens = stats.special_tokens;
  occupancy.special_pages = stats.special_pages;
  occupancy.last_page_length = stats.last_page_len;
  return occupancy;
}

Session::Session(const Model& model, int height, int width, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(model, height, width, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::Add(std::span<const float> rgb, const ResultCallback& on_result) {
  impl_->Add(rgb, on_result);
}
void Session::Finish(const ResultCallback& on_result) { impl_->Finish(on_result); }
void Session::Reset() { impl_->Reset(); }
FrameResult Session::Localize(std::span<const float> rgb) { return impl_->Localize(rgb); }
void Session::Save(const std::filesystem::path& path, const std::string& note,
                   const SnapshotSaver& more) const {
  SaveSnapshot(path, impl_->Describe(), note, more,
               [this](ByteSink& sink) { impl_->SaveState(sink); });
}
void Session::Load(const std::filesystem::path& path, const SnapshotLoader& more) {
  LoadSnapshot(
      path, impl_->Describe(), more, [this](ByteSource& source) { impl_->LoadState(source); },
      [this] { impl_->Reset(); });
}
const MemoryPlan& Session::memory_plan() const { return impl_->memory_plan(); }
CacheOccupancy Session::occupancy() const { return impl_->occupancy(); }
AttentionBackend Session::attention() const { return impl_->stream().plan().setup.attention; }
const StageTimes& Session::last_step() const { return impl_->stream().times(); }

}  // namespace lingbot
