#include "tools/hashed_model.h"

#include "weights/model_tensors.h"

namespace lingbot {

HashedWeights MakeHashedModel(const nlohmann::json& config, int threads) {
  ModelTensorSizes sizes;
  sizes.img_size = config.at("img_size");
  sizes.embed_dim = config.at("embed_dim");
  sizes.num_heads = config.at("num_heads");
  sizes.depth = config.at("depth");
  sizes.vit_depth = config.at("vit_depth");
  sizes.camera_depth = config.at("camera_depth");
  sizes.dpt_features = config.at("dpt_features");
  for (size_t i = 0; i < 4; ++i) sizes.dpt_channels[i] = config.at("dpt_channels").at(i);
  return HashedWeights(ModelTensorShapes(sizes), config.at("seed").get<uint64_t>(),
                       config.value("fc2_bias_offset", 1.0f), {{"config", config.dump()}}, threads);
}

}  // namespace lingbot
