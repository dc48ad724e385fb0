#include "tools/hashed_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "model/config.h"
#include "weights/checkpoint.h"
#include "weights/model_tensors.h"
#include "weights/safetensors_writer.h"

namespace lingbot {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 17> kModelKeys = {
    "img_size",  "patch_size",     "embed_dim",         "num_heads",    "depth",
    "vit_depth", "camera_depth",   "mlp_ratio",         "dpt_features", "dpt_channels",
    "taps",      "camera_heads",   "camera_iterations", "scale_frames", "sliding_window",
    "seed",      "fc2_bias_offset"};
constexpr uint64_t kDefaultSeed = 1;
constexpr int64_t kLargestSize = 1'000'000;

bool IsSize(const Json& value) {
  return value.is_number_integer() && value >= 1 && value <= kLargestSize;
}

void ReadSize(const Json& config, const char* key, int64_t& size) {
  const auto found = config.find(key);
  if (found == config.end()) return;
  Check(IsSize(*found), ErrorCode::kInvalidArgument,
        "\"{}\" of the model's configuration is {}; expected a whole number between 1 and {}", key,
        found->dump(), kLargestSize);
  size = found->get<int64_t>();
}

void ReadDptChannels(const Json& config, std::array<int64_t, 4>& channels) {
  const auto found = config.find("dpt_channels");
  if (found == config.end()) return;
  Check(
      found->is_array() && found->size() == 4 && std::all_of(found->begin(), found->end(), IsSize),
      ErrorCode::kInvalidArgument,
      "\"dpt_channels\" of the model's configuration is {}; expected four whole numbers",
      found->dump());
  for (size_t i = 0; i < 4; ++i) channels[i] = (*found)[i].get<int64_t>();
}

ModelTensorSizes ReadSizes(const Json& config) {
  ModelTensorSizes sizes;
  ReadSize(config, "img_size", sizes.img_size);
  ReadSize(config, "patch_size", sizes.patch_size);
  ReadSize(config, "embed_dim", sizes.embed_dim);
  ReadSize(config, "num_heads", sizes.num_heads);
  ReadSize(config, "depth", sizes.depth);
  ReadSize(config, "vit_depth", sizes.vit_depth);
  ReadSize(config, "camera_depth", sizes.camera_depth);
  ReadSize(config, "mlp_ratio", sizes.mlp_ratio);
  ReadSize(config, "dpt_features", sizes.dpt_features);
  ReadDptChannels(config, sizes.dpt_channels);
  return sizes;
}

uint64_t ReadSeed(const Json& config) {
  const auto found = config.find("seed");
  if (found == config.end()) return kDefaultSeed;
  Check(found->is_number_unsigned(), ErrorCode::kInvalidArgument,
        "\"seed\" of the model's configuration is {}; expected a whole number, not negative",
        found->dump());
  return found->get<uint64_t>();
}

float ReadBiasOffset(const Json& config) {
  const auto found = config.find("fc2_bias_offset");
  if (found == config.end()) return 1.0f;
  const float offset = found->is_number() ? static_cast<float>(found->get<double>()) : NAN;
  Check(std::isfinite(offset), ErrorCode::kInvalidArgument,
        "\"fc2_bias_offset\" of the model's configuration is {}; expected a finite number",
        found->dump());
  return offset;
}

bool IsModelKey(std::string_view key) {
  return std::find(kModelKeys.begin(), kModelKeys.end(), key) != kModelKeys.end();
}

Json ModelPart(const Json& config) {
  Json part = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (IsModelKey(key)) part[key] = value;
  }
  return part;
}

std::vector<std::byte> NarrowToBFloat16(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(BFloat16));
  auto* target = reinterpret_cast<BFloat16*>(bytes.data());
  std::transform(values.begin(), values.end(), target, ToBFloat16);
  return bytes;
}

}  // namespace

HashedWeights MakeHashedModel(const Json& config, int threads) {
  Check(config.is_object(), ErrorCode::kInvalidArgument,
        "the model's configuration is not a JSON object");
  HashedWeights weights(ModelTensorShapes(ReadSizes(config)), ReadSeed(config),
                        ReadBiasOffset(config), {{"config", ModelPart(config).dump()}}, threads);
  InferConfig(weights);  // what shapes cannot tell: refused here and not by a later reader
  return weights;
}

Json ReadGoldenConfig(const TensorSource& golden) {
  const auto found = golden.metadata().find("config");
  Check(found != golden.metadata().end(), ErrorCode::kInvalidArgument,
        "{} has no metadata entry \"config\", so it does not say which model it is for",
        golden.name());
  Json config = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  Check(config.is_object(), ErrorCode::kCorruptFile,
        "the metadata entry \"config\" of {} is not a JSON object", golden.name());
  return config;
}

Json ReadModelConfig(const std::filesystem::path& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  Check(exists, ErrorCode::kFileNotFound, "there is no file {}", path.string());
  std::ifstream file(path);
  Check(file.good() && !std::filesystem::is_directory(path, error), ErrorCode::kFileUnreadable,
        "{} cannot be read", path.string());
  Json config = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  Check(config.is_object(), ErrorCode::kCorruptFile, "{} is not a JSON object", path.string());
  for (const auto& [key, value] : config.items()) {
    Check(IsModelKey(key), ErrorCode::kInvalidArgument,
          "{} has the unknown key \"{}\"; known are: {}", path.string(), key,
          fmt::join(kModelKeys, " "));
  }
  return config;
}

void WriteCheckpoint(const TensorSource& source, const std::filesystem::path& path, DType dtype) {
  Check(dtype == DType::kF32 || dtype == DType::kBF16, ErrorCode::kInvalidArgument,
        "checkpoints are written in float32 or bfloat16, not in {}", NameOf(dtype));
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, info] : source.tensors()) entries.push_back({name, {dtype, info.shape}});
  SafetensorsWriter writer(path, std::move(entries), source.metadata());
  std::vector<float> values;
  for (const auto& [name, info] : source.tensors()) {
    values.resize(static_cast<size_t>(info.shape.elements()));
    source.ReadFloats(name, values.data());
    if (dtype == DType::kF32) {
      writer.WriteValues<float>(name, values);
    } else {
      writer.Write(name, NarrowToBFloat16(values));
    }
  }
  writer.Finish();
}

void VerifyCheckpoint(const TensorSource& source, const std::filesystem::path& path) {
  const std::unique_ptr<TensorSource> written = OpenCheckpoint(path);
  CheckTensors(*written, InferConfig(*written));
  Check(written->tensors().size() == source.tensors().size() &&
            written->metadata() == source.metadata(),
        ErrorCode::kCorruptFile, "{} does not hold the {} tensors and the metadata written to it",
        path.string(), source.tensors().size());
}

}  // namespace lingbot
