#ifndef LINGBOT_WEIGHTS_MODEL_TENSORS_H_
#define LINGBOT_WEIGHTS_MODEL_TENSORS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tensor/tensor_view.h"

namespace lingbot {

// The sizes from which every tensor shape of a model follows. The defaults are the released
// model's.
struct ModelTensorSizes {
  int64_t img_size = 518;    // side of the square that the position table is for, pixels
  int64_t patch_size = 14;   // pixels
  int64_t embed_dim = 1024;  // C; the camera head and the depth head's input are 2C wide
  int64_t num_heads = 16;    // q_norm and k_norm have embed_dim / num_heads elements
  int64_t depth = 24;        // frame blocks, and as many global blocks
  int64_t vit_depth = 24;    // blocks of the image encoder
  int64_t camera_depth = 4;  // blocks of the camera head's trunk
  int64_t mlp_ratio = 4;
  int64_t dpt_features = 256;
  std::array<int64_t, 4> dpt_channels = {256, 512, 1024, 1024};
};

// Every tensor of a model, by the name it has in the released checkpoint. Throws kInvalidArgument
// for sizes that are not positive, do not divide each other as they must, or are absurdly large.
std::map<std::string, Shape> ModelTensorShapes(const ModelTensorSizes& sizes);

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_MODEL_TENSORS_H_
