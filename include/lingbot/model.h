#ifndef LINGBOT_MODEL_H_
#define LINGBOT_MODEL_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lingbot/options.h"

namespace lingbot {

// Sizes of a network, read from its checkpoint.
struct ModelInfo {
  std::string source;         // path, or what generated the weights
  int img_size = 0;           // pixels per side of the position table; the default image width
  int patch_size = 0;         // pixels per side of a patch
  int embed_dim = 0;          // channels of a token
  int mlp_ratio = 0;          // hidden channels of an MLP / embed_dim
  int num_heads = 0;          // attention heads of the encoder, frame and global blocks
  int vit_depth = 0;          // encoder blocks
  int depth = 0;              // pairs of frame and global blocks
  std::array<int, 4> taps{};  // pairs whose outputs feed the heads
  int camera_depth = 0;       // trunk blocks of the camera head
  int camera_heads = 0;       // their attention heads
  int dpt_features = 0;       // channels of the depth head
  std::array<int, 4> dpt_channels{};
  int camera_iterations = 0;                  // default refinement passes
  int scale_frames = 0;                       // default of SessionOptions
  int sliding_window = 0;                     // default of SessionOptions
  int64_t parameters = 0;                     // numbers in the tensors that the network uses
  Precision precision = Precision::kFloat32;  // what kAuto became
  DeviceKind device = DeviceKind::kCpu;       // likewise
  int device_ordinal = 0;                     // of the GPU
  uint64_t weight_bytes = 0;                  // memory of the prepacked weights
  // Of all weights of a loaded model, whatever kind of file they came in and wherever they run;
  // empty otherwise.
  std::string fingerprint;
};

// The weights of a network, ready to multiply. Immutable and cheap to copy (copies share the
// weights); any number of sessions, on any threads, may run on one model.
class Model {
 public:
  // Reads a safetensors or PyTorch .pt checkpoint, tensor by tensor. Throws Error: kFileNotFound,
  // kFileUnreadable, kUnsupportedFormat, kCorruptFile, kUnsafeFile for the file; kMissingTensor,
  // kShapeMismatch for its contents; kOutOfMemory if the weights exceed what is free.
  static Model Load(const std::filesystem::path& path, const ModelOptions& options = {});

  const ModelInfo& info() const;

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl);
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// What a checkpoint holds, without loading it.
struct CheckpointSummary {
  std::string format;  // "safetensors" or "PyTorch zip"
  int64_t tensors = 0;
  int64_t elements = 0;
  uint64_t file_bytes = 0;
  std::map<std::string, int64_t> tensors_by_dtype;
  std::map<std::string, std::string> metadata;
  ModelInfo model;  // sizes inferred, device and precision as Load would choose; weight_bytes is 0
  std::vector<std::string> ignored;  // tensors that the network has no use for
};

// Throws as Model::Load does.
CheckpointSummary InspectCheckpoint(const std::filesystem::path& path,
                                    const ModelOptions& options = {});

}  // namespace lingbot

#endif  // LINGBOT_MODEL_H_
