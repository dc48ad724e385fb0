// Writes a checkpoint whose weights are hashed from their names: of a golden file's model or of a
// configuration. Such a model means nothing, but is the same everywhere.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/system_memory.h"
#include "tools/hashed_model.h"
#include "tools/tool_main.h"
#include "weights/checkpoint.h"

namespace lingbot {
namespace {

struct Arguments {
  std::vector<std::string> files;  // [GOLDEN] OUT
  std::string config;
  std::string dtype = "f32";
  int threads = 0;
};

void Run(const Arguments& arguments) {
  const bool from_config = !arguments.config.empty();
  Check(arguments.files.size() == (from_config ? 1 : 2), ErrorCode::kInvalidArgument,
        "expected `hash_weights GOLDEN OUT.safetensors` or `hash_weights --config CONFIG.json "
        "OUT.safetensors`, got {} file names{}",
        arguments.files.size(), from_config ? " beside --config" : "");
  const std::filesystem::path out = arguments.files.back();
  std::error_code absent;  // a file that does not exist yet is no other one
  Check(from_config || !std::filesystem::equivalent(arguments.files.front(), out, absent),
        ErrorCode::kInvalidArgument, "{} would overwrite the file that describes the model",
        out.string());
  const nlohmann::json config = from_config
                                    ? ReadModelConfig(arguments.config)
                                    : ReadGoldenConfig(*OpenCheckpoint(arguments.files.front()));
  const HashedWeights weights = MakeHashedModel(config, arguments.threads);
  WriteCheckpoint(weights, out, arguments.dtype == "bf16" ? DType::kBF16 : DType::kF32);
  VerifyCheckpoint(weights, out);
  fmt::print("{}: {} tensors, {}, {}\n", out.string(), weights.tensors().size(), arguments.dtype,
             FormatBytes(std::filesystem::file_size(out)));
}

}  // namespace
}  // namespace lingbot

int main(int argc, char** argv) {
  CLI::App app("Writes a checkpoint whose weights are hashed from their names", "hash_weights");
  lingbot::Arguments arguments;
  app.add_option("FILES", arguments.files,
                 "GOLDEN OUT.safetensors, or OUT.safetensors alone with --config")
      ->required();
  app.add_option("--config", arguments.config, "JSON file with the model's sizes and seed");
  app.add_option("--dtype", arguments.dtype, "Element type of the file")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", arguments.threads, "Threads; 0 = all cores");
  return lingbot::ToolMain(&app, argc, argv, [&] {
    lingbot::Run(arguments);
    return 0;
  });
}
