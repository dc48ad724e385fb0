#ifndef LINGBOT_MODEL_IMAGE_ENCODER_H_
#define LINGBOT_MODEL_IMAGE_ENCODER_H_

#include <vector>

#include "layers/block.h"
#include "layers/position.h"
#include "model/config.h"

namespace lingbot {

// Sizes of the encoder's, frame and global blocks.
BlockShape TokenBlockShape(const ModelConfig& config);

// DINOv2 vision transformer: image to normalised patch tokens.
class ImageEncoder {
 public:
  ImageEncoder(const TensorSource& source, const ModelConfig& config, DType storage);

  // Position embedding of a grid: [1 + patches, channels]; row 0 belongs to the class token.
  Buffer PositionEmbedding(const PatchGrid& grid) const;

  // images [frames, 3, H, W] in [0, 1]; positions from PositionEmbedding; tokens
  // [frames * patches, channels].
  void Forward(const BlockContext& context, const TensorView& images, const TensorView& positions,
               const TensorView& tokens) const;

  static size_t WorkspaceBytes(const ModelConfig& config, DType storage, const PatchGrid& grid,
                               int64_t frames, AttentionBackend attention, int threads);
  size_t bytes() const;

 private:
  void Embed(const BlockContext& context, const TensorView& images, const TensorView& positions,
             const TensorView& x) const;

  int patch_size_;
  int grid_side_;
  ops::LinearWeights patch_projection_;  // kernel read as [channels, 3*patch*patch]
  Buffer class_token_;                   // [channels]
  Buffer registers_;                     // [4, channels]
  Buffer position_table_;                // [1 + G*G, channels]
  std::vector<BlockWeights> blocks_;
  NormWeights norm_;
};

}  // namespace lingbot

#endif  // LINGBOT_MODEL_IMAGE_ENCODER_H_
