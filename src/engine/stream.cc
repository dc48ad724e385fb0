#include "engine/stream.h"

#include <algorithm>
#include <chrono>

namespace lingbot {

Stream::Stream(std::shared_ptr<const Model::Impl> model, const StreamPlan& plan)
    : model_(std::move(model)),
      plan_(plan),
      context_(plan.threads, plan.workspace_bytes),
      tables_(model_->aggregator.MakeTables(plan.grid, plan.scale_frames)),
      depth_tables_(model_->depth.MakeTables(plan.grid)),
      cache_(plan.cache),
      input_(DType::kF32, {plan.scale_frames, 3, plan.height, plan.width}),
      poses_(DType::kF32, {plan.scale_frames, kPoseSize}),
      depth_(DType::kF32, {plan.scale_frames, int64_t{plan.height} * plan.width}),
      confidence_(DType::kF32, {plan.scale_frames, int64_t{plan.height} * plan.width}),
      stats_(cache_.stats()) {}

void Stream::Step(int64_t first_frame, int frames, StepKind kind) {
  const auto start = std::chrono::steady_clock::now();
  profile_.Clear();
  const BlockContext context{context_, profile_, plan_.attention};
  const Arena::Scope scope(context_.arena());
  const int64_t rows = frames * plan_.grid.tokens();
  std::array<TensorView, 4> taps;
  for (TensorView& tap : taps) {
    tap = context_.arena().Floats({rows, 2 * model_->aggregator.channels()});
  }
  FrameTransaction transaction(cache_, frames, kind);
  model_->aggregator.Forward(context, input_.view().Slice(0, 0, frames), first_frame,
                             plan_.scale_frames, tables_, cache_, taps, observer_);
  RunHeads(context, taps, frames, poses_.view().Slice(0, 0, frames));
  if (kind == StepKind::kTransient) {
    cache_.Discard();
  } else {
    transaction.Commit();
  }
  stats_ = cache_.stats();
  RecordTimes(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
}

void Stream::RunHeads(const BlockContext& context, const std::array<TensorView, 4>& taps,
                      int frames, const TensorView& poses) {
  const int64_t tokens = plan_.grid.tokens();
  const TensorView& last = taps.back();
  const TensorView camera_tokens(last.raw(), DType::kF32, {frames, last.dim(1)},
                                 {tokens * last.stride(0), 1});
  model_->camera.Forward(context, camera_tokens, plan_.camera_iterations, cache_, poses, observer_);
  for (int frame = 0; frame < frames; ++frame) {
    std::array<TensorView, 4> own;
    for (int k = 0; k < 4; ++k) own[k] = taps[k].Slice(0, frame * tokens, (frame + 1) * tokens);
    model_->depth.Forward(context, own, depth_tables_, depth_.view()[frame],
                          confidence_.view()[frame]);
  }
}

void Stream::RecordTimes(double total_ms) {
  times_.tokens = profile_.milliseconds(ops::Stage::kTokens);
  times_.frame_blocks = profile_.milliseconds(ops::Stage::kFrameBlocks);
  times_.global_attention = profile_.milliseconds(ops::Stage::kGlobalAttention);
  times_.global_other = profile_.milliseconds(ops::Stage::kGlobalOther);
  times_.camera = profile_.milliseconds(ops::Stage::kCamera);
  times_.depth = profile_.milliseconds(ops::Stage::kDepth);
  times_.total = total_ms;
}

StreamResult Stream::result(int frame) const {
  const auto floats = [&](const Buffer& buffer) {
    return std::span<const float>(buffer.view()[frame].data<float>(),
                                  static_cast<size_t>(buffer.shape()[1]));
  };
  StreamResult result;
  std::copy_n(poses_.view()[frame].data<float>(), kPoseSize, result.pose.begin());
  result.depth = floats(depth_);
  result.confidence = floats(confidence_);
  return result;
}

void Stream::Reset() {
  cache_.Reset();
  stats_ = cache_.stats();
}

}  // namespace lingbot
