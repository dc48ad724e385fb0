#ifndef LINGBOT_MODEL_CONFIG_H_
#define LINGBOT_MODEL_CONFIG_H_

#include <array>
#include <string>
#include <vector>

#include "weights/model_tensors.h"
#include "weights/tensor_source.h"

namespace lingbot {

// Sizes of a network and the defaults it was trained with.
struct ModelConfig {
  int img_size = 0;
  int patch_size = 0;
  int embed_dim = 0;
  int mlp_ratio = 4;
  int num_heads = 0;
  int vit_depth = 0;
  int depth = 0;
  std::array<int, 4> taps{};
  int camera_depth = 0;
  int camera_heads = 0;
  int camera_iterations = 4;
  int dpt_features = 0;
  std::array<int, 4> dpt_channels{};
  int scale_frames = 8;
  int sliding_window = 64;
};

// Sizes from tensor shapes; what shapes cannot tell (taps, camera heads, defaults of the stream)
// from the metadata entry "config" (JSON), else the released network's values. Throws
// kMissingTensor or kShapeMismatch naming the tensor, kInvalidArgument where metadata contradicts
// the shapes or is needed and absent.
ModelConfig InferConfig(const TensorSource& source);

// Checks that every tensor of such a network is there with its shape, before any of them is read.
// Throws kMissingTensor or kShapeMismatch.
void CheckTensors(const TensorSource& source, const ModelConfig& config);

// Names of tensors that a network of this configuration has no use for, in order.
std::vector<std::string> UnusedTensors(const TensorSource& source, const ModelConfig& config);

// Every tensor of the network and its shape.
std::map<std::string, Shape> ExpectedTensors(const ModelConfig& config);

}  // namespace lingbot

#endif  // LINGBOT_MODEL_CONFIG_H_
