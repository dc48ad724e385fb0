#ifndef LINGBOT_ENGINE_MODEL_IMPL_H_
#define LINGBOT_ENGINE_MODEL_IMPL_H_

#include "heads/camera_head.h"
#include "heads/depth_head.h"
#include "lingbot/model.h"
#include "model/aggregator.h"

namespace lingbot {

struct Model::Impl {
  ModelInfo info;
  ModelConfig config;
  DType storage;  // of the encoder's, frame and global blocks' weights, and of the KV cache
  Aggregator aggregator;
  CameraHead camera;
  DepthHead depth;
};

// A model from any source of tensors. Throws as Model::Load does.
Model MakeModel(const TensorSource& source, const ModelOptions& options);

// Sizes that a source's tensors describe; weight_bytes is 0.
ModelInfo DescribeModel(const TensorSource& source, Precision precision);

// The configuration behind a description.
ModelConfig ConfigOf(const ModelInfo& info);

// kFloat32 or kBFloat16: what `wanted` comes to on this processor.
Precision ResolvePrecision(Precision wanted);
DType StorageOf(Precision precision);

// Memory of the prepacked weights, without loading them (layouts of the matrix library may pad a
// little).
uint64_t WeightBytes(const ModelConfig& config, Precision precision);

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_MODEL_IMPL_H_
