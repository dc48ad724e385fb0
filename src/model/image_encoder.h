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
  ImageEncoder(const TensorSource& source, const ModelConfig& config, const ops::Setup& setup);

  // What depends on the grid alone.
  struct Tables {
    Buffer first_tokens;  // [1 + registers, channels]: class token with its position, registers
    Buffer positions;     // [patches, channels]
  };
  Tables MakeTables(const PatchGrid& grid) const;

  // images [frames, 3, H, W] in [0, 1]; tokens [frames * patches, channels].
  void Forward(const BlockContext& context, const TensorView& images, const Tables& tables,
               const TensorView& tokens) const;

  static size_t WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                               const PatchGrid& grid, int64_t frames);
  size_t bytes() const;

 private:
  Buffer PositionEmbedding(const PatchGrid& grid) const;
  // Forward for so many frames that they go through together.
  void ForwardTogether(const BlockContext& context, const TensorView& images, const Tables& tables,
                       const TensorView& tokens) const;
  void Embed(const BlockContext& context, const TensorView& images, const Tables& tables,
             const TensorView& x) const;

  ops::Setup setup_;

  int patch_size_;
  int grid_side_;
  ops::LinearWeights patch_projection_;  // kernel read as [channels, 3*patch*patch]
  // On the CPU: they only go into Tables.
  Buffer class_token_;     // [channels]
  Buffer registers_;       // [4, channels]
  Buffer position_table_;  // [1 + G*G, channels]
  std::vector<BlockWeights> blocks_;
  NormWeights norm_;
};

}  // namespace lingbot

#endif  // LINGBOT_MODEL_IMAGE_ENCODER_H_
