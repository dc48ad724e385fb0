#include "lingbot/model.h"

#include <algorithm>

#include "base/check.h"
#include "base/file_mapping.h"
#include "base/system_memory.h"
#include "engine/fingerprint.h"
#include "engine/model_impl.h"
#include "ops/linear.h"
#include "tensor/device_memory.h"
#include "weights/checkpoint.h"

namespace lingbot {
namespace {

void Log(const ModelOptions& options, const std::string& line) {
  if (options.log) options.log(line);
}

// Checkpoints carry heads that this engine does not run (point_head.*): said once, not per tensor.
void WarnOfUnusedTensors(const TensorSource& source, const ModelConfig& config,
                         const ModelOptions& options) {
  const std::vector<std::string> unused = UnusedTensors(source, config);
  if (unused.empty()) return;
  Log(options,
      fmt::format("{} tensors of {} are not part of this network and are ignored (the first: {})",
                  unused.size(), source.name(), unused.front()));
}

bool InFloat32Head(const std::string& tensor) {
  return tensor.rfind("camera_head.", 0) == 0 || tensor.rfind("depth_head.", 0) == 0;
}

// Loading needs the packed weights and, one after the other, each tensor in float32 (twice where it
// is scaled).
void CheckLoadFits(const ModelInfo& info, const TensorSource& source) {
  const bool on_gpu = info.device == DeviceKind::kCuda;
  const Precision precision = info.precision;
  const uint64_t available = on_gpu ? FreeCudaMemory() : AvailableMemory();
  const uint64_t needed = WeightBytes(ConfigOf(info), precision);
  Check(available == 0 || needed <= available, ErrorCode::kOutOfMemory,
        "the weights of {} need {} in {}, but only {} of {} is free{}", source.name(),
        FormatBytes(needed), precision == Precision::kBFloat16 ? "bf16" : "float32",
        FormatBytes(available), on_gpu ? "the GPU's memory" : "memory",
        precision == Precision::kFloat32 ? "; precision bf16 needs about half" : "");
}

}  // namespace

DeviceKind ResolveDevice(DeviceKind wanted, int ordinal) {
  if (wanted == DeviceKind::kCpu) return wanted;
  std::string reason;
  const std::vector<CudaDeviceInfo> devices = CudaDevices(&reason);
  if (wanted == DeviceKind::kAuto && devices.empty()) return DeviceKind::kCpu;
  Check(!devices.empty(), ErrorCode::kUnavailable, "{}", reason);
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const CudaDeviceInfo& d) { return d.ordinal == ordinal; });
  Check(found != devices.end(), ErrorCode::kUnavailable,
        "there is no GPU {}; this machine has {} (0 to {})", ordinal, devices.size(),
        devices.size() - 1);
  if (found->major >= 8) return DeviceKind::kCuda;
  Check(wanted == DeviceKind::kAuto, ErrorCode::kUnavailable,
        "GPU {} ({}) has compute capability {}.{}; 8.0 or newer is needed: use --device cpu",
        ordinal, found->name, found->major, found->minor);
  return DeviceKind::kCpu;
}

ops::Setup SetupOf(const ModelInfo& info, int threads) {
  ops::Setup setup;
  setup.device = info.device == DeviceKind::kCuda ? Device::kCuda : Device::kCpu;
  setup.ordinal = info.device_ordinal;
  setup.storage = StorageOf(info.precision);
  setup.threads = ThreadTeam(threads).size();
  return setup;
}

Precision ResolvePrecision(Precision wanted, DeviceKind device) {
  if (wanted != Precision::kAuto) return wanted;
  if (device == DeviceKind::kCuda) return Precision::kBFloat16;
  return ops::HasNativeBFloat16() ? Precision::kBFloat16 : Precision::kFloat32;
}

DType StorageOf(Precision precision) {
  return precision == Precision::kBFloat16 ? DType::kBF16 : DType::kF32;
}

uint64_t WeightBytes(const ModelConfig& config, Precision precision) {
  uint64_t bytes = 0;
  for (const auto& [name, shape] : ExpectedTensors(config)) {
    const bool wide = InFloat32Head(name) || shape.rank() < 2;
    bytes +=
        static_cast<uint64_t>(shape.elements()) * SizeOf(wide ? DType::kF32 : StorageOf(precision));
  }
  return bytes;
}

ModelConfig ConfigOf(const ModelInfo& info) {
  ModelConfig config;
  config.img_size = info.img_size;
  config.patch_size = info.patch_size;
  config.embed_dim = info.embed_dim;
  config.mlp_ratio = info.mlp_ratio;
  config.num_heads = info.num_heads;
  config.vit_depth = info.vit_depth;
  config.depth = info.depth;
  config.taps = info.taps;
  config.camera_depth = info.camera_depth;
  config.camera_heads = info.camera_heads;
  config.camera_iterations = info.camera_iterations;
  config.dpt_features = info.dpt_features;
  config.dpt_channels = info.dpt_channels;
  config.scale_frames = info.scale_frames;
  config.sliding_window = info.sliding_window;
  return config;
}

ModelInfo DescribeModel(const TensorSource& source, const ModelOptions& options) {
  const ModelConfig config = InferConfig(source);
  CheckTensors(source, config);
  ModelInfo info;
  info.source = source.name();
  info.img_size = config.img_size;
  info.patch_size = config.patch_size;
  info.embed_dim = config.embed_dim;
  info.mlp_ratio = config.mlp_ratio;
  info.num_heads = config.num_heads;
  info.vit_depth = config.vit_depth;
  info.depth = config.depth;
  info.taps = config.taps;
  info.camera_depth = config.camera_depth;
  info.camera_heads = config.camera_heads;
  info.camera_iterations = config.camera_iterations;
  info.dpt_features = config.dpt_features;
  info.dpt_channels = config.dpt_channels;
  info.scale_frames = config.scale_frames;
  info.sliding_window = config.sliding_window;
  for (const auto& [name, shape] : ExpectedTensors(config)) info.parameters += shape.elements();
  info.device = ResolveDevice(options.device, options.device_ordinal);
  info.device_ordinal = info.device == DeviceKind::kCuda ? options.device_ordinal : 0;
  info.precision = ResolvePrecision(options.precision, info.device);
  return info;
}

Model MakeModel(const TensorSource& given, const ModelOptions& options) {
  const FingerprintingSource source(given);
  ModelInfo info = DescribeModel(source, options);
  if (info.device == DeviceKind::kCuda) {
    UseCudaDevice(info.device_ordinal);
    if (options.spare_gpu_stack) SpareCudaStack();
  }
  const ModelConfig config = ConfigOf(info);
  WarnOfUnusedTensors(source, config, options);
  CheckLoadFits(info, source);
  const ThreadTeam team(options.threads);
  const ThreadTeam::Scope threads(team);
  const ops::Setup setup = SetupOf(info, options.threads);
  auto impl = std::make_shared<Model::Impl>(
      Model::Impl{std::move(info), config, setup, Aggregator(source, config, setup),
                  CameraHead(source, config, setup), DepthHead(source, config, setup)});
  impl->info.fingerprint = source.Fingerprint(config);
  impl->info.weight_bytes = impl->aggregator.bytes() + impl->camera.bytes() + impl->depth.bytes();
  return Model(std::move(impl));
}

Model::Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Model Model::Load(const std::filesystem::path& path, const ModelOptions& options) {
  return MakeModel(*OpenCheckpoint(path), options);
}

const ModelInfo& Model::info() const { return impl_->info; }

CheckpointSummary InspectCheckpoint(const std::filesystem::path& path,
                                    const ModelOptions& options) {
  CheckpointSummary summary;
  const FileMapping mapping(path);
  const bool safetensors =
      RecogniseCheckpoint(mapping.bytes(), path.string()) == CheckpointFormat::kSafetensors;
  summary.format = safetensors ? "safetensors" : "PyTorch zip";
  summary.file_bytes = mapping.bytes().size();
  const std::unique_ptr<TensorSource> source = OpenCheckpoint(path);
  summary.model = DescribeModel(*source, options);
  summary.metadata = source->metadata();
  summary.ignored = UnusedTensors(*source, ConfigOf(summary.model));
  for (const auto& [name, info] : source->tensors()) {
    ++summary.tensors;
    summary.elements += info.shape.elements();
    ++summary.tensors_by_dtype[NameOf(info.dtype)];
  }
  return summary;
}

}  // namespace lingbot
