#include "cli/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "base/check.h"

namespace lingbot::cli {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void AddTimes(const StageTimes& step, StageTimes* sum) {
  sum->tokens += step.tokens;
  sum->frame_blocks += step.frame_blocks;
  sum->global_attention += step.global_attention;
  sum->global_other += step.global_other;
  sum->camera += step.camera;
  sum->depth += step.depth;
  sum->transfers += step.transfers;
  sum->total += step.total;
}

// What is being handled, as an outcome. To be called inside a catch block.
Outcome OutcomeOfException() {
  try {
    throw;
  } catch (const Error& error) {
    return {Outcome::Status::kFailed, error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {Outcome::Status::kFailed, ErrorCode::kOutOfMemory, "out of memory"};
  } catch (const std::exception& error) {
    return {Outcome::Status::kFailed, ErrorCode::kInternal, error.what()};
  }
}

}  // namespace

const char* NameOf(Outcome::Status status) {
  switch (status) {
    case Outcome::Status::kComplete:
      return "complete";
    case Outcome::Status::kFailed:
      return "failed";
    case Outcome::Status::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

Pipeline::Pipeline(const RunPlan& plan, bool skip_bad, const ThreadTeam& team, FrameStream* stream,
                   RunWriter* writer, const StopSignal& stop, const RunPosition& start,
                   SnapshotKeeper* snapshots, Console* console)
    : plan_(plan),
      skip_bad_(skip_bad),
      stream_(stream),
      writer_(writer),
      stop_(stop),
      snapshots_(snapshots),
      console_(console),
      preprocessor_(plan.preprocess, &team),
      progress_(console),
      listed_(plan.source->frame_count().value_or(plan.frames)),
      start_(start),
      position_(start),
      held_(start.given - start.written) {}

Outcome Pipeline::Run() {
  // Frames in waiting are of the original size: 25 MB each in 4K.
  constexpr size_t kFramesAhead = 2;
  Outcome outcome;
  try {
    SkipToStart();
    progress_.Start(position_.written);
    frames_.emplace(plan_.source.get(), kFramesAhead, [this] { return stop_.received(); });
    ProcessAll();
  } catch (...) {
    outcome = OutcomeOfException();
  }
  // Before frames that are held back are written: they are computed again when the run goes on.
  if (!finished_ && between_frames_) snapshots_->AtEarlyEnd(position_);
  if (outcome.status == Outcome::Status::kFailed) {
    if (!writer_failed_ && outcome.code != ErrorCode::kOutOfMemory) FlushHeldFrames();
  } else if (!finished_) {
    // Frames of a windowed run that are computed already; a scale step would only begin now.
    if (stream_->windowed()) FlushHeldFrames();
    outcome = Interrupted();
  }
  if (frames_) input_problems_ = frames_->problems();
  frames_.reset();
  return outcome;
}

Outcome Pipeline::Interrupted() const {
  const std::string of_all = total() > 0 ? fmt::format(" of {}", total()) : "";
  const int64_t written = position_.written;
  const std::string how_far = written > 0
                                  ? fmt::format("after {}{} frames", written, of_all)
                                  : fmt::format("before the first{} frames was done", of_all);
  return {Outcome::Status::kInterrupted, ErrorCode::kInternal,
          fmt::format("interrupted by signal {} {}", stop_.number(), how_far)};
}

// The frames whose results are written already.
void Pipeline::SkipToStart() {
  if (start_.last_source < 0) return;
  console_->Note(fmt::format("going on after frame {}", start_.written));
  plan_.source->SkipThrough(start_.last_source, [this] { return stop_.received(); });
}

void Pipeline::ProcessAll() {
  Image image;
  while (!stop_.received() && NextFrame(&image)) {
    const auto start = Clock::now();
    const PreprocessedFrame& frame =
        preprocessor_.Run(image.rgb.data(), image.width, image.height, image.name);
    times_.preprocess += SecondsSince(start);
    if (held_ > 0) {
      // The stream knows it, but its results are still to come.
      queue_.Push(image, frame);
      --held_;
      continue;
    }
    Feed(image, frame);
    snapshots_->AfterFrame(position_);
  }
  if (stop_.received()) return;
  Check(held_ == 0, ErrorCode::kCorruptFile,
        "the input ends {} frames before the place where the run was interrupted: it has changed",
        held_);
  CallStream([this](const ResultCallback& on_result) { stream_->Finish(on_result); });
  finished_ = true;
  snapshots_->AtEnd(position_);
}

// The next frame of the run's size. All images were looked at before the run, so another size here
// is either one to skip or a file that has changed since.
bool Pipeline::NextFrame(Image* image) {
  const auto start = Clock::now();
  while (frames_->Next(image)) {
    try {
      CheckFrameSize(plan_, {image->width, image->height}, image->name);
      times_.decode += SecondsSince(start);
      return true;
    } catch (const Error& error) {
      if (!skip_bad_) throw;
      console_->Warn(fmt::format("skipped image {}: {}", image->source_index, error.what()));
    }
  }
  return false;
}

void Pipeline::Feed(const Image& image, const PreprocessedFrame& frame) {
  queue_.Push(image, frame);
  const std::span<const float> rgb(frame.pixels.data<float>(),
                                   size_t{3} * frame.height * frame.width);
  between_frames_ = false;
  CallStream([&](const ResultCallback& on_result) { stream_->Add(rgb, on_result); });
  between_frames_ = true;
  ++position_.given;
}

void Pipeline::CallStream(const std::function<void(const ResultCallback&)>& call) {
  const auto start = Clock::now();
  const double written_before = times_.write;
  const int64_t frames_before = position_.written;
  call([this](const FrameResult& result) { Write(result); });
  times_.network += SecondsSince(start) - (times_.write - written_before);
  // A windowed session may have made several steps, of which it reports the last.
  if (position_.written > frames_before && !stream_->windowed()) {
    AddTimes(stream_->last_step(), &times_.stages);
  }
}

// White added by padding is no part of the scene: depth 0 there says so in the files and keeps it
// out of the cloud.
std::span<const float> Pipeline::DepthOfImage(const FrameResult& result,
                                              const ImageMapping& mapping) {
  if (plan_.preprocess.mode != ResizeMode::kPad) return result.depth;
  const auto columns = std::lround(mapping.original_width * mapping.scale_x);
  const auto rows = std::lround(mapping.original_height * mapping.scale_y);
  const auto left = std::lround(mapping.offset_x);
  const auto top = std::lround(mapping.offset_y);
  depth_.assign(result.depth.begin(), result.depth.end());
  for (int y = 0; y < result.height; ++y) {
    for (int x = 0; x < result.width; ++x) {
      const bool inside = y >= top && y < top + rows && x >= left && x < left + columns;
      if (!inside) depth_[static_cast<size_t>(y) * result.width + x] = 0.0f;
    }
  }
  return depth_;
}

void Pipeline::Write(const FrameResult& result) {
  const auto start = Clock::now();
  const PendingFrame& frame = queue_.front();
  FrameRecord record;
  record.index = result.index;
  record.source_name = frame.name;
  record.source_index = frame.source_index;
  record.timestamp = frame.timestamp;
  record.keyframe = result.keyframe;
  record.pose = result.pose;
  record.height = result.height;
  record.width = result.width;
  record.depth = DepthOfImage(result, frame.mapping);
  record.confidence = result.confidence;
  record.rgb = frame.rgb;
  record.mapping = frame.mapping;
  try {
    writer_->AddFrame(record);
  } catch (...) {
    writer_failed_ = true;
    throw;
  }
  position_.last_source = frame.source_index;
  queue_.Pop();
  ++position_.written;
  times_.write += SecondsSince(start);
  CheckHealth(result);
  progress_.Update(position_.written, total(), result.cache, health_);
}

// Says it once, when it happens: the run may take hours more.
void Pipeline::CheckHealth(const FrameResult& result) {
  const bool warned = !health_.warning().empty();
  health_.Add(result.index, HealthSampleOf(result));
  if (!warned && !health_.warning().empty()) console_->Warn(health_.warning());
}

// After a failure: frames that the session holds back are computed or cheap to compute.
void Pipeline::FlushHeldFrames() {
  try {
    CallStream([this](const ResultCallback& on_result) { stream_->Finish(on_result); });
  } catch (const std::exception&) {
    // The first error is the one to report.
  }
}

int64_t Pipeline::total() const {
  if (plan_.frames == 0) return 0;
  const int64_t listed = frames_ ? frames_->frame_count().value_or(listed_) : listed_;
  return std::max(position_.written, plan_.frames - (listed_ - listed));
}

}  // namespace lingbot::cli
