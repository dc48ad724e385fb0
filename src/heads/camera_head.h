#ifndef LINGBOT_HEADS_CAMERA_HEAD_H_
#define LINGBOT_HEADS_CAMERA_HEAD_H_

#include <vector>

#include "model/aggregator.h"

namespace lingbot {

inline constexpr int64_t kPoseSize = 9;  // translation 3, quaternion 4, fields of view 2

// Sizes of the camera head's trunk blocks.
BlockShape CameraBlockShape(const ModelConfig& config);

// Refines the pose of a frame in several passes from its camera token and those of all retained
// frames. float32 throughout: its modulation amplifies rounding about 500 times.
class CameraHead {
 public:
  CameraHead(const TensorSource& source, const ModelConfig& config, const ops::Setup& setup);

  // tokens [frames, 2C] (rows may be strided): the camera tokens of the last tap. poses [frames,
  // 9]: the activated estimate of the last pass. `cache` has an open step of `frames` frames and at
  // least `passes` passes.
  void Forward(const BlockContext& context, const TensorView& tokens, int passes, KvCache& cache,
               const TensorView& poses, const Observer& observer) const;

  static size_t WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup, int64_t frames,
                               int64_t retained_frames);
  size_t bytes() const;

 private:
  void Refine(const BlockContext& context, const TensorView& normed, const TensorView& plain,
              int pass, KvCache& cache, const TensorView& raw) const;

  int64_t channels_;
  NormWeights token_norm_;
  NormWeights plain_norm_;         // the modulated one: no learned part, eps 1e-6
  Buffer empty_pose_;              // [1, 9]
  ops::LinearWeights embed_pose_;  // 9 -> channels
  ops::LinearWeights modulation_;  // channels -> shift, scale, gate
  std::vector<BlockWeights> trunk_;
  NormWeights trunk_norm_;
  ops::LinearWeights branch_fc1_;
  ops::LinearWeights branch_fc2_;
};

}  // namespace lingbot

#endif  // LINGBOT_HEADS_CAMERA_HEAD_H_
