#ifndef LINGBOT_HEADS_DEPTH_HEAD_H_
#define LINGBOT_HEADS_DEPTH_HEAD_H_

#include <array>

#include "layers/block.h"
#include "layers/position.h"
#include "model/config.h"
#include "ops/conv.h"

namespace lingbot {

// Sine and cosine encoding of image positions, 0.1 times, in separable form.
struct PositionMap {
  Buffer across;  // [columns, channels/2]
  Buffer down;    // [rows, channels/2]
};

// Map of a columns x rows grid with `channels` channels over an image of aspect width/height:
// coordinates span the unit diagonal, channels are [sin, cos] blocks with frequencies
// 100^(-j/(channels/4)).
PositionMap MakePositionMap(int64_t rows, int64_t columns, int64_t channels, double aspect,
                            const ops::Setup& setup = {});

// Dense prediction transformer (DPT): the four taps' patch tokens to depth and confidence. float32,
// on a GPU that runs in bfloat16 with feature maps in float16.
class DepthHead {
 public:
  // Of one frame, one map a tap, finest first; [rows, columns, features].
  using Features = std::array<TensorView, 4>;

  DepthHead(const TensorSource& source, const ModelConfig& config, const ops::Setup& setup);

  // Tables that depend on the frame size alone.
  struct Tables {
    PatchGrid grid;
    int64_t height, width;
    std::array<PositionMap, 4> taps;
    PositionMap image;
  };
  Tables MakeTables(const PatchGrid& grid) const;

  // Room for one frame's features in the arena.
  Features NewFeatures(const BlockContext& context, const PatchGrid& grid) const;
  // One frame's rows of tap `level`, [tokens, 2C], special tokens first, to the features of that
  // level.
  void Reassemble(const BlockContext& context, const TensorView& tap, const Tables& tables,
                  int level, const TensorView& feature) const;
  // One frame's features, which are overwritten, to depth and confidence [height * width].
  void Forward(const BlockContext& context, const Features& features, const Tables& tables,
               const TensorView& depth, const TensorView& confidence) const;

  // Bytes that NewFeatures, Reassemble and Forward take from the arena at most.
  static size_t FeatureBytes(const ModelConfig& config, const ops::Setup& setup,
                             const PatchGrid& grid);
  static size_t ReassemblyBytes(const ModelConfig& config, const ops::Setup& setup,
                                const PatchGrid& grid);
  static size_t WorkspaceBytes(const ModelConfig& config, const ops::Setup& setup,
                               const PatchGrid& grid);
  size_t bytes() const;

 private:
  // Residual unit: x = r + conv2(relu(conv1(r))) with r = relu(x).
  struct ResidualUnit {
    ops::ConvWeights conv1, conv2;
    size_t bytes() const { return conv1.bytes() + conv2.bytes(); }
  };
  // One step from coarse to fine. The coarsest has no lateral unit.
  struct Fusion {
    ResidualUnit lateral;
    ResidualUnit merged;
    ops::LinearWeights out;
    size_t bytes() const { return lateral.bytes() + merged.bytes() + out.bytes(); }
  };

  static ResidualUnit LoadUnit(const TensorSource& source, const std::string& name,
                               int64_t features, const ops::Setup& setup);
  TensorView NewMap(const BlockContext& context, const Shape& shape) const;
  void Residual(const BlockContext& context, const ResidualUnit& unit, const TensorView& x) const;
  void FuseLevel(const BlockContext& context, int level, const TensorView* coarser,
                 const TensorView& feature, const TensorView& finer) const;
  void Predict(const BlockContext& context, const TensorView& fused, const Tables& tables,
               const TensorView& depth, const TensorView& confidence) const;

  ops::Setup setup_;  // its storage is the type of the feature maps
  int64_t channels_;  // 2C
  int64_t patch_size_;
  int64_t features_;
  std::array<int64_t, 4> level_channels_;
  NormWeights norm_;
  std::array<ops::LinearWeights, 4> projects_;
  ops::LinearWeights
      enlarge4_;  // transposed 4x4 convolution with stride 4 as [16 * channels, channels]
  ops::LinearWeights enlarge2_;  // likewise 2x2
  ops::ConvWeights reduce_;      // 3x3, stride 2
  std::array<ops::ConvWeights, 4> adapt_;
  std::array<Fusion, 4> fusions_;
  ops::ConvWeights output1_;
  ops::ConvWeights output2_;
  ops::LinearWeights output3_;
};

}  // namespace lingbot

#endif  // LINGBOT_HEADS_DEPTH_HEAD_H_
