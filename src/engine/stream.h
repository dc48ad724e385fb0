#ifndef LINGBOT_ENGINE_STREAM_H_
#define LINGBOT_ENGINE_STREAM_H_

#include <functional>
#include <span>
#include <vector>

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
  const TensorView& input() const { return host_input_.view(); }

  // Processes the first `frames` frames of input(), the first of them frame `first_frame` of the
  // stream. Of an undecided step, `keep` says what becomes of the frame once result() is known.
  // Returns whether the frames were stored. On an exception, also of `keep`, the cache is as
  // before.
  bool Step(int64_t first_frame, int frames, StepKind kind,
            const std::function<bool()>& keep = nullptr);

  StreamResult result(int frame) const;  // of the last step
  const CacheStats& stats() const { return stats_; }
  // The attention over the cache that ran last.
  AttentionBackend last_attention() { return ops::LastAttentionBackend(context_); }
  const StageTimes& times() const { return times_; }
  const StreamPlan& plan() const { return plan_; }
  const ModelInfo& model_info() const { return model_->info; }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  // Back to the empty stream; memory is kept.
  void Reset();

  // All that later steps depend on. KvCache says what is thrown.
  KvCache& cache() { return cache_; }
  void LoadCache(ByteSource& source);

 private:
  // Memory of results: on the CPU the host's own, on a GPU two of them.
  struct Results {
    Results() = default;
    Results(const StreamPlan& plan, MemoryKind kind);
    Buffer poses;       // [scale_frames, 9]
    Buffer depth;       // [scale_frames, height * width]
    Buffer confidence;  // [scale_frames, height * width]
  };

  const Buffer& input_of_device() const { return on_gpu() ? gpu_input_ : host_input_; }
  const Results& results_of_device() const { return on_gpu() ? gpu_results_ : results_; }
  bool on_gpu() const { return plan_.setup.on_gpu(); }
  void WarmUp();
  // Launches the step's operators.
  void RunNetwork(int64_t first_frame, int frames);
  void DownloadResults(int frames);
  Observer ObserverOnHost();
  // One tap of one frame to the depth head's features; of the last one also the camera token.
  void TakeTap(const BlockContext& context, int tap, int frame, const TensorView& values,
               const TensorView& camera_tokens);
  void RecordTimes(double total_ms);

  std::shared_ptr<const Model::Impl> model_;
  StreamPlan plan_;
  ops::Context context_;
  ops::Profile profile_;
  FrameTables tables_;
  DepthHead::Tables depth_tables_;
  KvCache cache_;
  Buffer host_input_;  // [scale_frames, 3, height, width]
  Buffer gpu_input_;
  Results results_;
  Results gpu_results_;
  CacheStats stats_;
  std::vector<DepthHead::Features> features_;  // of the frames of a step, in the arena
  StageTimes times_;
  Observer observer_;
};

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_STREAM_H_
