#include "tools/golden_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "engine/model_impl.h"
#include "engine/session_impl.h"
#include "preprocess/preprocess.h"
#include "tools/hashed_model.h"
#include "weights/checkpoint.h"
#include "weights/safetensors.h"

namespace lingbot {

using Json = nlohmann::json;

namespace {

// |out - reference| / |reference|, accumulated over several tensors.
class RelativeError {
 public:
  void Add(const float* out, const float* reference, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double d = static_cast<double>(out[i]) - reference[i];
      difference_ += d * d;
      norm_ += static_cast<double>(reference[i]) * reference[i];
    }
  }
  double value() const { return std::sqrt(difference_ / norm_); }

 private:
  double difference_ = 0.0;
  double norm_ = 0.0;
};

// std::max that lets NaN win.
double Worse(double a, double b) { return std::isnan(a) || a > b ? a : b; }

double MaxAbsDifference(const float* out, const float* reference, int64_t count) {
  double worst = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    worst = Worse(std::abs(static_cast<double>(out[i]) - reference[i]), worst);
  }
  return worst;
}

Buffer ReadFrom(const TensorSource& source, const std::string& tensor) {
  const auto found = source.tensors().find(tensor);
  Check(found != source.tensors().end(), ErrorCode::kMissingTensor, "{} has no tensor {}",
        source.name(), tensor);
  return source.Read(tensor, found->second.shape);
}

}  // namespace

GoldenCase::GoldenCase(const std::filesystem::path& path)
    : name_(path.stem().string()), file_(OpenCheckpoint(path)) {
  const auto found = file_->metadata().find("config");
  if (found != file_->metadata().end()) config_ = Json::parse(found->second, nullptr, false);
  Check(config_.is_object() && config_.contains("frames"), ErrorCode::kUnsupportedFormat,
        "{} is no recording of the network: its metadata lack a \"config\" with \"frames\"",
        path.string());
}

std::vector<std::string> GoldenCase::TensorNames() const {
  std::vector<std::string> names;
  for (const auto& [name, info] : file_->tensors()) names.push_back(name);
  return names;
}

Buffer GoldenCase::Read(const std::string& tensor) const { return ReadFrom(*file_, tensor); }

Buffer GoldenCase::ReadImages() const {
  Buffer images = Read("images");
  if (file_->tensors().at("images").dtype != DType::kU8) return images;
  float* values = images.data<float>();
  std::transform(values, values + images.shape().elements(), values,
                 [](float value) { return value / 255.0f; });
  return images;
}

std::vector<int> GoldenCase::DepthFrames() const {
  if (config_.contains("keep_depth")) return config_.at("keep_depth").get<std::vector<int>>();
  std::vector<int> all(frames());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Model GoldenCase::MakeModel(Precision precision, int threads, const DeviceChoice& device) const {
  Check(has_seed(), ErrorCode::kInvalidArgument,
        "{} was recorded with trained weights: --model names their file", name_);
  ModelOptions options;
  options.device = device.kind;
  options.device_ordinal = device.ordinal;
  options.precision = precision;
  options.threads = threads;
  return lingbot::MakeModel(MakeHashedModel(config_, threads), options);
}

SessionOptions GoldenCase::StreamOptions() const {
  SessionOptions options;
  options.scale_frames = config_.at("scale_frames").get<int>();
  options.sliding_window = config_.at("sliding_window").get<int>();
  options.keyframe_interval = config_.value("keyframe_interval", 1);
  options.expected_frames = frames();
  return options;
}

Tolerances TolerancesFor(Precision precision) {
  if (precision == Precision::kFloat32) return {3e-5, 1e-5, 5e-6};
  return {1.5e-2, 5e-3, std::numeric_limits<double>::infinity()};
}

namespace {

// Compares what a stream delivers with a recording, frame by frame.
class Comparison {
 public:
  explicit Comparison(const GoldenCase& golden)
      : golden_(golden),
        poses_(golden.Read("pose_enc")),
        depth_(golden.Read("depth")),
        confidence_(golden.Read("depth_conf")),
        depth_frames_(golden.DepthFrames()),
        names_(golden.TensorNames()) {
    if (golden.Has("cache_stats")) {
      stats_ = golden.Read("cache_stats");
      report_.cache_stats = GoldenReport::Stats::kExact;
    }
    scale_frames_ = golden.config().at("scale_frames").get<int>();
  }

  void OnResult(const FrameResult& result) {
    ++results_;
    report_.pose_max_abs =
        Worse(MaxAbsDifference(result.pose.data(), poses_.view()[result.index].data<float>(), 9),
              report_.pose_max_abs);
    const auto kept = std::find(depth_frames_.begin(), depth_frames_.end(), result.index);
    if (kept != depth_frames_.end()) {
      const int64_t row = kept - depth_frames_.begin();
      const auto pixels = static_cast<int64_t>(result.depth.size());
      depth_error_.Add(result.depth.data(), depth_.view()[row].data<float>(), pixels);
      confidence_error_.Add(result.confidence.data(), confidence_.view()[row].data<float>(),
                            pixels);
    }
    if (report_.cache_stats != GoldenReport::Stats::kNone) CompareStats(result);
  }

  // Rows of `values` belong to the frames of the current step in equal parts.
  void OnProbe(int64_t first_frame, int64_t frames, const std::string& name, int index,
               const TensorView& values) {
    const int64_t rows = values.dim(0) / frames;
    for (int64_t frame = first_frame; frame < first_frame + frames; ++frame) {
      const std::string probe = name == "patch_tokens"
                                    ? fmt::format("probe.{}.{}", frame, name)
                                    : fmt::format("probe.{}.{}.{}", frame, name, index);
      if (std::find(names_.begin(), names_.end(), probe) == names_.end()) continue;
      const Buffer expected = golden_.Read(probe);
      const TensorView own =
          values.Slice(0, (frame - first_frame) * rows, (frame - first_frame + 1) * rows);
      RelativeError error;
      error.Add(own.data<float>(), expected.data<float>(), expected.shape().elements());
      if (!report_.probe_rel_l2 || !(error.value() <= *report_.probe_rel_l2)) {
        report_.probe_rel_l2 = error.value();
        report_.worst_probe = probe;
      }
      ++probes_seen_;
    }
  }

  void CompareTransforms(const std::vector<WindowTransform>& transforms) {
    const Buffer scales = golden_.Read("chunk_scales");
    const Buffer matrices = golden_.Read("chunk_transforms");
    report_.scale_max_abs = report_.transform_max_abs = 0.0;
    if (static_cast<int64_t>(transforms.size()) != scales.shape()[0]) {
      report_.scale_max_abs = std::numeric_limits<double>::infinity();
      return;
    }
    for (size_t k = 0; k < transforms.size(); ++k) {
      const WindowTransform& t = transforms[k];
      const float scale = static_cast<float>(t.scale);
      report_.scale_max_abs =
          Worse(MaxAbsDifference(&scale, scales.data<float>() + k, 1), *report_.scale_max_abs);
      std::array<float, 16> matrix{};
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
          matrix[row * 4 + column] =
              static_cast<float>(t.world_from_window.rotation[row * 3 + column]);
        }
        matrix[row * 4 + 3] = static_cast<float>(t.world_from_window.center[row]);
      }
      matrix[15] = 1.0f;
      report_.transform_max_abs =
          Worse(MaxAbsDifference(matrix.data(), matrices.data<float>() + k * 16, 16),
                *report_.transform_max_abs);
    }
  }

  GoldenReport Finish(Precision precision) {
    report_.depth_rel_l2 = depth_error_.value();
    report_.confidence_rel_l2 = confidence_error_.value();
    const Tolerances t = TolerancesFor(precision);
    const auto within = [](const std::optional<double>& value, double limit) {
      return !value || *value <= limit;
    };
    report_.pass =
        results_ == golden_.frames() && report_.pose_max_abs <= t.pose_max_abs &&
        report_.depth_rel_l2 <= t.depth_rel_l2 && report_.confidence_rel_l2 <= t.depth_rel_l2 &&
        report_.cache_stats != GoldenReport::Stats::kDiffer &&
        within(report_.probe_rel_l2, t.probe_rel_l2) && probes_seen_ == ProbesExpected() &&
        within(report_.scale_max_abs, t.pose_max_abs) &&
        within(report_.transform_max_abs, t.pose_max_abs);
    return report_;
  }

 private:
  int64_t ProbesExpected() const {
    return std::count_if(names_.begin(), names_.end(),
                         [](const std::string& name) { return name.rfind("probe.", 0) == 0; });
  }

  // Row 0 is the state after the scale step, row k that after the k-th streamed frame.
  void CompareStats(const FrameResult& result) {
    if (result.index < scale_frames_ - 1) return;
    const CacheOccupancy& c = result.cache;
    const int64_t actual[7] = {c.stored_frames,   c.scale_pages,   c.window_pages,
                               c.special_tokens,  c.stored_frames, c.special_pages,
                               c.last_page_length};
    const int64_t row = result.index - (scale_frames_ - 1);
    const float* expected = stats_.view()[row].data<float>();
    for (int i = 0; i < 7; ++i) {
      if (static_cast<float>(actual[i]) != expected[i]) {
        report_.cache_stats = GoldenReport::Stats::kDiffer;
      }
    }
  }

  const GoldenCase& golden_;
  Buffer poses_, depth_, confidence_, stats_;
  std::vector<int> depth_frames_;
  std::vector<std::string> names_;
  int scale_frames_ = 0;
  int64_t results_ = 0;
  int64_t probes_seen_ = 0;
  RelativeError depth_error_, confidence_error_;
  GoldenReport report_;
};

std::span<const float> ImageOf(const Buffer& images, int frame) {
  const TensorView image = images.view()[frame];
  return {image.data<float>(), static_cast<size_t>(image.elements())};
}

void RunWindowed(const GoldenCase& golden, const Model& model, const SessionOptions& options,
                 const Buffer& images, Comparison& comparison) {
  WindowedOptions windows;
  windows.window_size = golden.config().at("window_size").get<int>();
  windows.overlap_keyframes = golden.config().value("overlap_keyframes", 0);
  const int height = static_cast<int>(images.shape()[2]);
  const int width = static_cast<int>(images.shape()[3]);
  WindowedSession session(model, height, width, options, windows);
  const auto receive = [&](const FrameResult& result) { comparison.OnResult(result); };
  for (int frame = 0; frame < golden.frames(); ++frame) {
    session.Add(ImageOf(images, frame), receive);
  }
  session.Finish(receive);
  comparison.CompareTransforms(session.transforms());
}

void RunStreaming(const GoldenCase& golden, const Model& model, const SessionOptions& options,
                  const Buffer& images, Comparison& comparison) {
  const int height = static_cast<int>(images.shape()[2]);
  const int width = static_cast<int>(images.shape()[3]);
  Session session(model, height, width, options);
  int64_t done = 0;  // frames of completed steps
  session.impl().stream().set_observer([&](const char* name, int index, const TensorView& values) {
    const int64_t frames = done == 0 ? options.scale_frames : 1;
    comparison.OnProbe(done, frames, name, index, values);
  });
  const auto receive = [&](const FrameResult& result) {
    comparison.OnResult(result);
    done = result.index + 1;
  };
  for (int frame = 0; frame < golden.frames(); ++frame) {
    session.Add(ImageOf(images, frame), receive);
  }
  session.Finish(receive);
}

}  // namespace

GoldenReport CheckGolden(const GoldenCase& golden, const Model& model,
                         const SessionOptions& options) {
  const Buffer images = golden.ReadImages();
  Comparison comparison(golden);
  if (golden.windowed()) {
    RunWindowed(golden, model, options, images, comparison);
  } else {
    RunStreaming(golden, model, options, images, comparison);
  }
  return comparison.Finish(model.info().precision);
}

namespace {

std::vector<uint8_t> BytesOf(const Buffer& values) {
  std::vector<uint8_t> bytes(values.shape().elements());
  std::copy_n(values.data<float>(), bytes.size(), bytes.begin());
  return bytes;
}

// Pixels of a preprocessed frame that differ from the recording [height, width, 3].
int64_t DifferingPixels(const PreprocessedFrame& frame, const Buffer& expected) {
  if (expected.shape() != Shape{frame.height, frame.width, 3}) {
    return std::max<int64_t>(1, expected.shape().elements() / 3);
  }
  const int64_t pixels = int64_t{frame.height} * frame.width;
  int64_t differing = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    bool same = true;
    for (int64_t channel = 0; channel < 3; ++channel) {
      const float value = frame.pixels.data<float>()[channel * pixels + i];
      same = same && value == expected.data<float>()[i * 3 + channel] / 255.0f;
    }
    differing += same ? 0 : 1;
  }
  return differing;
}

}  // namespace

int64_t CountDifferingPixels(const TensorSource& file) {
  const Json cases = Json::parse(file.metadata().at("cases"));
  const ThreadTeam team;
  int64_t differing = 0;
  for (const Json& entry : cases) {
    const std::string name = std::to_string(entry.at("case").get<int>());
    PreprocessOptions options;
    options.image_size = entry.at("image_size").get<int>();
    options.patch_size = entry.at("patch_size").get<int>();
    options.mode = entry.at("mode") == "pad" ? ResizeMode::kPad : ResizeMode::kCrop;
    const std::vector<uint8_t> rgb = BytesOf(ReadFrom(file, name + ".in"));
    Preprocessor preprocessor(options, &team);
    differing += DifferingPixels(preprocessor.Run(rgb.data(), entry.at("width").get<int>(),
                                                  entry.at("height").get<int>(), name),
                                 ReadFrom(file, name + ".out"));
  }
  return differing;
}

int64_t CountWrongSizes(const Json& rows) {
  int64_t wrong = 0;
  for (const Json& row : rows) {
    PreprocessOptions options;
    options.image_size = row.at("image_size").get<int>();
    bool right = false;
    try {
      const ResizeSize size = ComputeResizeSize(row.at("width").get<int>(),
                                                row.at("height").get<int>(), options, "row");
      right = !row.at("error").get<bool>() && size.resized_height == row.at("resized_height") &&
              size.out_height == row.at("out_height") && size.out_width == row.at("out_width");
    } catch (const Error&) {
      right = row.at("error").get<bool>();
    }
    wrong += right ? 0 : 1;
  }
  return wrong;
}

}  // namespace lingbot
