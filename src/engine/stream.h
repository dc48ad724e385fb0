#ifndef LINGBOT_ENGINE_STREAM_H_
#define LINGBOT_ENGINE_STREAM_H_

#include <span>

#include "engine/memory_plan.h"
#include "engine/model_impl.h"

namespace lingbot {

// What one step computed for one of its frames; spans are valid until the next step.
struct StreamResult {
  PoseEncoding pose;
  std::span<const float> depth;
  std::span<const float> confidence;
};

// The network running over one stream: steps of frames through blocks, cache and heads. Knows no
// queues and no policy.
class Stream {
 public:
  Stream(std::shared_ptr<const Model::Impl> model, const StreamPlan& plan);

  // Room for the frames of a step, to be filled before Step: [scale_frames, 3, height, width].
  const TensorView& input() const { return input_.view(); }

  // Processes the first `frames` frames of input(), the first of them frame `first_frame` of the
  // stream. On an exception the cache is as before.
  void Step(int64_t first_frame, int frames, StepKind kind);

  StreamResult result(int frame) const;  // of the last step
  const CacheStats& stats() const { return stats_; }
  const StageTimes& times() const { return times_; }
  const StreamPlan& plan() const { return plan_; }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  // Back to the empty stream; memory is kept.
  void Reset();

 private:
  void RunHeads(const BlockContext& context, const std::array<TensorView, 4>& taps, int frames,
                const TensorView& poses);
  void RecordTimes(double total_ms);

  std::shared_ptr<const Model::Impl> model_;
  StreamPlan plan_;
  ops::Context context_;
  ops::Profile profile_;
  FrameTables tables_;
  DepthHead::Tables depth_tables_;
  KvCache cache_;
  Buffer input_;       // [scale_frames, 3, height, width]
  Buffer poses_;       // [scale_frames, 9]
  Buffer depth_;       // [scale_frames, height * width]
  Buffer confidence_;  // [scale_frames, height * width]
  CacheStats stats_;
  StageTimes times_;
  Observer observer_;
};

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_STREAM_H_
