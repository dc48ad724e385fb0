#ifndef LINGBOT_MODEL_AGGREGATOR_H_
#define LINGBOT_MODEL_AGGREGATOR_H_

#include <array>
#include <functional>
#include <vector>

#include "model/image_encoder.h"

namespace lingbot {

inline constexpr int kSpecialTokens = 6;  // camera, four registers, scale

// Sees intermediate results of a forward pass: "patch_tokens" [frames * patches, C], "frame_block"
// and "global_block" [frames * tokens, C] of block `index`, "pose_iter" [frames, 9] of pass
// `index`.
using Observer = std::function<void(const char* name, int index, const TensorView& values)>;

// Takes what the heads look at, as soon as it is there, in the order of the blocks and then of the
// step's frames: `values` [tokens, 2C] holds the outputs of the frame and the global block of tap
// `tap` side by side, until the call returns.
using TapSink = std::function<void(int tap, int frame, const TensorView& values)>;

// Tables that depend on the frame size alone; one set per session.
struct FrameTables {
  PatchGrid grid;
  ImageEncoder::Tables encoder;
  FramePositions frame_positions;
  StreamPositions stream_positions;
};

// Images to tokens that know each other and the past: encoder, special tokens, alternating frame
// and global blocks.
class Aggregator {
 public:
  Aggregator(const TensorSource& source, const ModelConfig& config, const ops::Setup& setup);

  // For steps of `max_frames` frames at most. Takes StepInputBytes of the context's step inputs.
  FrameTables MakeTables(const PatchGrid& grid, int64_t max_frames, ops::Context& context) const;
  static size_t StepInputBytes(const ModelConfig& config, int64_t max_frames);

  // Sets what differs from step to step in `tables`, before UploadStepInputs: the frames' times.
  static void PrepareStep(FrameTables& tables, int64_t time, int64_t frames) {
    tables.stream_positions.SetTime(time, frames);
  }

  // One step of the stream, prepared by PrepareStep: images [frames, 3, H, W] in [0, 1], the first
  // of them frame `first_frame` of the stream (0-based, counting frames that were not stored).
  // `cache` has an open step of `frames` frames.
  void Forward(const BlockContext& context, const TensorView& images, int64_t first_frame,
               int64_t scale_frames, FrameTables& tables, KvCache& cache, const TapSink& sink,
               const Observer& observer) const;

  // Most that Forward takes from the arena for frames that see `kv_tokens` tokens at most;
  // `sink_bytes` is the most that the sink takes.
  static size_t WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                               const PatchGrid& grid, int64_t frames, int64_t kv_tokens,
                               size_t sink_bytes);
  size_t bytes() const;
  int64_t channels() const { return channels_; }

 private:
  void Embed(const BlockContext& context, const TensorView& images, int64_t first_frame,
             int64_t scale_frames, const FrameTables& tables, const Observer& observer,
             const TensorView& x) const;

  int64_t channels_;
  int64_t head_dim_;
  std::array<int, 4> taps_;
  ImageEncoder encoder_;
  // [3, special tokens, channels]: those of the first frame of a stream, of the other scale frames,
  // and of all frames after them.
  Buffer special_tokens_;
  std::vector<RotaryBlockWeights> frame_blocks_;
  std::vector<RotaryBlockWeights> global_blocks_;
};

}  // namespace lingbot

#endif  // LINGBOT_MODEL_AGGREGATOR_H_
