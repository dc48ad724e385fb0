#ifndef LINGBOT_TOOLS_GOLDEN_CASE_H_
#define LINGBOT_TOOLS_GOLDEN_CASE_H_

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/option_names.h"
#include "lingbot/model.h"
#include "lingbot/options.h"
#include "weights/tensor_source.h"

namespace lingbot {

// Recorded outputs of the original network: a safetensors file whose metadata entry "config" tells
// the model and the stream, and the seed of the weights or, without one, that they were trained:
// then their own file is needed besides.
class GoldenCase {
 public:
  // Throws what opening a checkpoint throws, and kUnsupportedFormat if the file holds no such
  // recording.
  explicit GoldenCase(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  // the file's stem
  const nlohmann::json& config() const { return config_; }
  int frames() const { return config_.at("frames").get<int>(); }
  bool windowed() const { return config_.contains("window_size"); }

  bool Has(const std::string& tensor) const { return file_->tensors().contains(tensor); }
  std::vector<std::string> TensorNames() const;
  Buffer Read(const std::string& tensor) const;  // as float32

  // Frames whose depth is recorded, in the order of the rows of "depth".
  std::vector<int> DepthFrames() const;

  // Frames [frames, 3, height, width] in [0, 1]; recordings may hold them as bytes.
  Buffer ReadImages() const;

  // True if the weights follow from a seed.
  bool has_seed() const { return config_.contains("seed"); }

  // A network of the recorded sizes with the hashed weights. Throws kInvalidArgument if the
  // recording has no seed.
  Model MakeModel(Precision precision, int threads,
                  const DeviceChoice& device = {DeviceKind::kCpu, 0}) const;
  // Options of the recorded stream; back end and layout are the caller's.
  SessionOptions StreamOptions() const;

 private:
  std::string name_;
  std::unique_ptr<TensorSource> file_;
  nlohmann::json config_;
};

struct Tolerances {
  double pose_max_abs;
  double depth_rel_l2;
  double probe_rel_l2;
};
// float32: close enough to reject a wrong normalisation epsilon or a tanh GELU. bf16: the
// original's own noise.
Tolerances TolerancesFor(Precision precision);

// How far a run is from its recording. NaN never passes.
struct GoldenReport {
  double pose_max_abs = 0.0;
  double depth_rel_l2 = 0.0;
  double confidence_rel_l2 = 0.0;
  std::optional<double> probe_rel_l2;  // the worst of all intermediate results; float32 only
  std::string worst_probe;
  enum class Stats { kNone, kExact, kDiffer } cache_stats = Stats::kNone;
  std::optional<double> scale_max_abs;      // windowed
  std::optional<double> transform_max_abs;  // windowed
  bool pass = false;
};

// Runs the recorded stream on `model` with `options` (those of StreamOptions, back end added) and
// compares.
GoldenReport CheckGolden(const GoldenCase& golden, const Model& model,
                         const SessionOptions& options);

// Preprocessing recordings: pixels that differ, over all cases of the file.
int64_t CountDifferingPixels(const TensorSource& file);
// Rows of a table of image sizes (JSON) that the size rule does not reproduce.
int64_t CountWrongSizes(const nlohmann::json& rows);

}  // namespace lingbot

#endif  // LINGBOT_TOOLS_GOLDEN_CASE_H_
