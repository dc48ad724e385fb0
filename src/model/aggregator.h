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

// Tables that depend on the frame size alone; one set per session.
struct FrameTables {
  PatchGrid grid;
  Buffer encoder_positions;  // [1 + patches, channels]
  FramePositions frame_positions;
  StreamPositions stream_positions;
};

// Images to tokens that know each other and the past: encoder, special tokens, alternating frame
// and global blocks.
class Aggregator {
 public:
  Aggregator(const TensorSource& source, const ModelConfig& config, DType storage);

  FrameTables MakeTables(const PatchGrid& grid, int64_t max_frames) const;

  // One step of the stream: images [frames, 3, H, W] in [0, 1], the first of them frame
  // `first_frame` of the stream (0-based, counting frames that were not stored). `cache` has an
  // open step of `frames` frames. taps[k] [frames * tokens, 2C] receives the outputs of the frame
  // and the global block of tap k side by side.
  void Forward(const BlockContext& context, const TensorView& images, int64_t first_frame,
               int64_t scale_frames, FrameTables& tables, KvCache& cache,
               const std::array<TensorView, 4>& taps, const Observer& observer) const;

  // For frames that see `kv_tokens` tokens at most.
  static size_t WorkspaceBytes(const ModelConfig& config, DType storage, const PatchGrid& grid,
                               int64_t frames, int64_t kv_tokens, AttentionBackend attention,
                               int threads);
  size_t bytes() const;
  int64_t channels() const { return channels_; }

 private:
  void WriteSpecialTokens(int64_t frame, int64_t scale_frames, float* target) const;

  int64_t channels_;
  int64_t head_dim_;
  std::array<int, 4> taps_;
  ImageEncoder encoder_;
  Buffer camera_token_;    // [2, channels]: variant 0 for the first frame of the stream, 1 for the
                           // others
  Buffer register_token_;  // [2, 4 * channels]: likewise
  Buffer scale_token_;     // [2, channels]: variant 0 for the scale frames, 1 for the others
  std::vector<RotaryBlockWeights> frame_blocks_;
  std::vector<RotaryBlockWeights> global_blocks_;
};

}  // namespace lingbot

#endif  // LINGBOT_MODEL_AGGREGATOR_H_
