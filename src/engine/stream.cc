#include "engine/stream.h"

#include <algorithm>
#include <chrono>

#include "ops/elementwise.h"

namespace lingbot {

namespace {

MemoryKind HostMemory(const StreamPlan& plan) {
  return plan.setup.on_gpu() ? MemoryKind::kPinned : MemoryKind::kPageable;
}

// Steps whose launches differ only in what they read from memory. What becomes of the frames makes
// no difference but the number of visible pages, which `attention` holds.
uint64_t StepKey(const StreamPlan& plan, int64_t first_frame, int frames, uint64_t attention) {
  const uint64_t kind = first_frame == 0 ? 0 : first_frame < plan.scale_frames ? 1 : 2;
  constexpr uint64_t kMix = 0x9E3779B97F4A7C15;
  return (attention * kMix) ^ (static_cast<uint64_t>(frames) * 4 + kind);
}

}  // namespace

Stream::Results::Results(const StreamPlan& plan, MemoryKind kind)
    : poses(DType::kF32, {plan.scale_frames, kPoseSize}, kind),
      depth(DType::kF32, {plan.scale_frames, int64_t{plan.height} * plan.width}, kind),
      confidence(DType::kF32, {plan.scale_frames, int64_t{plan.height} * plan.width}, kind) {}

Stream::Stream(std::shared_ptr<const Model::Impl> model, const StreamPlan& plan)
    : model_(std::move(model)),
      plan_(plan),
      context_(plan.setup, plan.workspace_bytes, plan.step_input_bytes),
      profile_(context_, plan.stage_times),
      tables_(model_->aggregator.MakeTables(plan.grid, plan.scale_frames, context_)),
      depth_tables_(model_->depth.MakeTables(plan.grid)),
      cache_(plan.cache, plan.setup.on_gpu() ? &context_ : nullptr),
      host_input_(DType::kF32, {plan.scale_frames, 3, plan.height, plan.width}, HostMemory(plan)),
      results_(plan, HostMemory(plan)),
      stats_(cache_.stats()) {
  features_.reserve(plan.scale_frames);
  ops::ReservePagedAttention(context_, plan.setup.attention, PagedLimitsOf(plan));
  if (!on_gpu()) return;
  gpu_input_ = Buffer(DType::kF32, host_input_.shape(), MemoryKind::kCuda);
  gpu_results_ = Results(plan, MemoryKind::kCuda);
  if (plan.stored_frames > 0) cache_.Provide(plan.stored_frames);
  WarmUp();
}

// Runs the steps of a stream on black frames, so that libraries load their kernels, launches are
// recorded and a GPU that cannot do it says so before the first frame comes.
void Stream::WarmUp() {
  std::fill_n(host_input_.data<float>(), host_input_.shape().elements(), 0.0f);
  int scale_frames = plan_.scale_frames;
  if (plan_.stored_frames > 0) {
    scale_frames = static_cast<int>(std::min<int64_t>(scale_frames, plan_.stored_frames));
  }
  for (int round = 0; round < 2; ++round) {
    Step(0, scale_frames, StepKind::kStored);
    if (scale_frames == plan_.scale_frames) Step(scale_frames, 1, StepKind::kTransient);
    Reset();
  }
}

bool Stream::Step(int64_t first_frame, int frames, StepKind kind,
                  const std::function<bool()>& keep) {
  const auto start = std::chrono::steady_clock::now();
  ops::Activate(context_);
  profile_.Clear();
  profile_.BeginStep();
  FrameTransaction transaction(cache_, frames, kind);
  Aggregator::PrepareStep(tables_, cache_.time_index(), frames);
  const uint64_t attention =
      ops::PlanPagedAttention(context_, plan_.setup.attention, cache_.Step());
  ops::UploadStepInputs(context_);
  if (on_gpu()) {
    ops::Upload(context_, host_input_.view().Slice(0, 0, frames),
                gpu_input_.view().Slice(0, 0, frames));
  }
  const bool ran =
      ops::RunStep(context_, StepKey(plan_, first_frame, frames, attention),
                   plan_.graph && !observer_, [&] { RunNetwork(first_frame, frames); });
  if (!ran) cache_.MarkAppended();
  DownloadResults(frames);
  const bool stored = kind == StepKind::kUndecided ? keep() : kind == StepKind::kStored;
  if (stored) {
    transaction.Commit();
  } else {
    cache_.Discard();
  }
  stats_ = cache_.stats();
  profile_.Collect();
  RecordTimes(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return stored;
}

void Stream::RunNetwork(int64_t first_frame, int frames) {
  const BlockContext context{context_, profile_, plan_.setup.attention, plan_.setup.activations()};
  const Arena::Scope scope(context_.arena());
  const Observer observer = ObserverOnHost();
  features_.clear();
  for (int frame = 0; frame < frames; ++frame) {
    features_.push_back(model_->depth.NewFeatures(context, plan_.grid));
  }
  const TensorView camera_tokens =
      context_.arena().Floats({frames, 2 * model_->aggregator.channels()});
  model_->aggregator.Forward(
      context, input_of_device().view().Slice(0, 0, frames), first_frame, plan_.scale_frames,
      tables_, cache_,
      [&](int tap, int frame, const TensorView& values) {
        TakeTap(context, tap, frame, values, camera_tokens);
      },
      observer);
  const Results& results = results_of_device();
  model_->camera.Forward(context, camera_tokens, plan_.camera_iterations, cache_,
                         results.poses.view().Slice(0, 0, frames), observer);
  for (int frame = 0; frame < frames; ++frame) {
    model_->depth.Forward(context, features_[frame], depth_tables_, results.depth.view()[frame],
                          results.confidence.view()[frame]);
  }
}

void Stream::DownloadResults(int frames) {
  if (!on_gpu()) return;
  const auto download = [&](const Buffer& from, const Buffer& to) {
    ops::Download(context_, from.view().Slice(0, 0, frames), to.view().Slice(0, 0, frames));
  };
  download(gpu_results_.poses, results_.poses);
  download(gpu_results_.depth, results_.depth);
  download(gpu_results_.confidence, results_.confidence);
  profile_.EndStep();
  ops::Synchronize(context_);
}

// Observers read tensors on the host.
Observer Stream::ObserverOnHost() {
  if (!observer_ || !on_gpu()) return observer_;
  return [this](const char* name, int index, const TensorView& values) {
    const Buffer copy(values.dtype(), values.shape());
    ops::Download(context_, values, copy.view());
    ops::Synchronize(context_);
    observer_(name, index, copy.view());
  };
}

void Stream::TakeTap(const BlockContext& context, int tap, int frame, const TensorView& values,
                     const TensorView& camera_tokens) {
  model_->depth.Reassemble(context, values, depth_tables_, tap, features_[frame][tap]);
  if (tap < 3) return;
  ops::CopyRows(context_, values.Slice(0, 0, 1), camera_tokens.Slice(0, frame, frame + 1));
}

void Stream::RecordTimes(double total_ms) {
  times_.tokens = profile_.milliseconds(ops::Stage::kTokens);
  times_.frame_blocks = profile_.milliseconds(ops::Stage::kFrameBlocks);
  times_.global_attention = profile_.milliseconds(ops::Stage::kGlobalAttention);
  times_.global_other = profile_.milliseconds(ops::Stage::kGlobalOther);
  times_.camera = profile_.milliseconds(ops::Stage::kCamera);
  times_.depth = profile_.milliseconds(ops::Stage::kDepth);
  times_.transfers = profile_.milliseconds(ops::Stage::kTransfers);
  times_.total = total_ms;
}

StreamResult Stream::result(int frame) const {
  const auto floats = [&](const Buffer& buffer) {
    return std::span<const float>(buffer.view()[frame].data<float>(),
                                  static_cast<size_t>(buffer.shape()[1]));
  };
  StreamResult result;
  std::copy_n(results_.poses.view()[frame].data<float>(), kPoseSize, result.pose.begin());
  result.depth = floats(results_.depth);
  result.confidence = floats(results_.confidence);
  return result;
}

void Stream::LoadCache(ByteSource& source) {
  cache_.Load(source);
  stats_ = cache_.stats();
}

void Stream::Reset() {
  cache_.Reset();
  stats_ = cache_.stats();
}

}  // namespace lingbot
