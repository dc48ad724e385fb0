#ifndef LINGBOT_TOOLS_HASHED_MODEL_H_
#define LINGBOT_TOOLS_HASHED_MODEL_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "weights/hashed_weights.h"

namespace lingbot {

// Weights hashed from tensor names (weights/hashed_weights.h) for the network that `config`
// describes; what it leaves out is the released network's. Keys:
//   sizes  img_size patch_size embed_dim num_heads depth vit_depth camera_depth mlp_ratio
//          dpt_features dpt_channels
//   what shapes cannot tell  taps camera_heads camera_iterations scale_frames sliding_window
//   numbers  seed (default 1), fc2_bias_offset (default 1)
// Other keys (of a run, in golden files) are ignored. The metadata entry "config" of the result
// holds the keys above, so that a checkpoint with these weights and metadata runs like any other.
// `threads` = 0 takes every core. Throws kInvalidArgument naming the key.
HashedWeights MakeHashedModel(const nlohmann::json& config, int threads = 0);

// The "config" of a golden file: the model and the run that produced it. Throws kInvalidArgument if
// there is none, kCorruptFile if it is not a JSON object.
nlohmann::json ReadGoldenConfig(const TensorSource& golden);

// A configuration from a JSON file. Throws kFileNotFound, kFileUnreadable, kCorruptFile if it is
// not a JSON object, kInvalidArgument for a key that MakeHashedModel does not know.
nlohmann::json ReadModelConfig(const std::filesystem::path& path);

// Writes every tensor of `source`, one at a time, with its metadata as a safetensors file in
// `dtype` (kF32 or kBF16). Throws kInvalidArgument for another dtype and as SafetensorsWriter does;
// no file is left behind then.
void WriteCheckpoint(const TensorSource& source, const std::filesystem::path& path, DType dtype);

// Reads the header of a file that WriteCheckpoint wrote and checks that it describes the network of
// `source`. Throws as OpenCheckpoint and the checks of the model do.
void VerifyCheckpoint(const TensorSource& source, const std::filesystem::path& path);

}  // namespace lingbot

#endif  // LINGBOT_TOOLS_HASHED_MODEL_H_
