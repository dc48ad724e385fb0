#ifndef LINGBOT_TOOLS_HASHED_MODEL_H_
#define LINGBOT_TOOLS_HASHED_MODEL_H_

#include <nlohmann/json.hpp>

#include "weights/hashed_weights.h"

namespace lingbot {

// Weights of the network that `config` describes, computed from tensor names.
HashedWeights MakeHashedModel(const nlohmann::json& config, int threads = 0);

}  // namespace lingbot

#endif  // LINGBOT_TOOLS_HASHED_MODEL_H_
