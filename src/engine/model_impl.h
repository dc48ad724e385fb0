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
  ops::Setup setup;
  Aggregator aggregator;
  CameraHead camera;
  DepthHead depth;
};

// A model from any source of tensors. Throws as Model::Load does.
Model MakeModel(const TensorSource& source, const ModelOptions& options);

// Sizes that a source's tensors describe; weight_bytes is 0.
ModelInfo DescribeModel(const TensorSource& source, const ModelOptions& options);

// The configuration behind a description.
ModelConfig ConfigOf(const ModelInfo& info);

// kCpu or kCuda: what `wanted` comes to here. Throws kUnavailable if there is no such device,
// saying why.
DeviceKind ResolveDevice(DeviceKind wanted, int ordinal);

// kFloat32 or kBFloat16: what `wanted` comes to on this device.
Precision ResolvePrecision(Precision wanted, DeviceKind device);

// What a model runs on and in; the attention is still to be resolved.
ops::Setup SetupOf(const ModelInfo& info, int threads);

DType StorageOf(Precision precision);

// Memory of the prepacked weights, without loading them (layouts of the matrix library may pad a
// little).
uint64_t WeightBytes(const ModelConfig& config, Precision precision);

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_MODEL_IMPL_H_
