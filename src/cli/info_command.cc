#include "cli/info_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/system_memory.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/machine_arguments.h"
#include "cli/memory_table.h"
#include "cli/model_lookup.h"
#include "cli/names.h"
#include "cli/weights_hash.h"
#include "lingbot/model.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json ModelJson(const ModelInfo& model) {
  return {{"img_size", model.img_size},
          {"patch_size", model.patch_size},
          {"embed_dim", model.embed_dim},
          {"mlp_ratio", model.mlp_ratio},
          {"num_heads", model.num_heads},
          {"vit_depth", model.vit_depth},
          {"depth", model.depth},
          {"taps", model.taps},
          {"camera_depth", model.camera_depth},
          {"camera_heads", model.camera_heads},
          {"camera_iterations", model.camera_iterations},
          {"dpt_features", model.dpt_features},
          {"dpt_channels", model.dpt_channels},
          {"scale_frames", model.scale_frames},
          {"sliding_window", model.sliding_window},
          {"parameters", model.parameters}};
}

Json SummaryJson(const std::string& file, const CheckpointSummary& summary,
                 const std::vector<MemoryRow>& rows) {
  return {{"file", file},
          {"format", summary.format},
          {"file_bytes", summary.file_bytes},
          {"hash", HashFile(file)},
          {"tensors", summary.tensors},
          {"elements", summary.elements},
          {"tensors_by_dtype", summary.tensors_by_dtype},
          {"model", ModelJson(summary.model)},
          {"ignored_tensors", summary.ignored},
          {"metadata", summary.metadata},
          {"memory", MemoryTableJson(rows, 0)}};
}

std::string ModelText(const ModelInfo& model) {
  return fmt::format(
      "network      {} parameters, image width {}, patches of {} pixels\n"
      "  encoder    {} blocks of {} channels, {} heads\n"
      "  aggregator {} pairs of frame and global blocks; the heads read pairs {}, {}, {}, {}\n"
      "  camera     {} blocks, {} heads, {} passes\n"
      "  depth      {} features from {}, {}, {}, {} channels\n"
      "  defaults   {} scale frames, window {}\n",
      model.parameters, model.img_size, model.patch_size, model.vit_depth, model.embed_dim,
      model.num_heads, model.depth, model.taps[0], model.taps[1], model.taps[2], model.taps[3],
      model.camera_depth, model.camera_heads, model.camera_iterations, model.dpt_features,
      model.dpt_channels[0], model.dpt_channels[1], model.dpt_channels[2], model.dpt_channels[3],
      model.scale_frames, model.sliding_window);
}

std::string SummaryText(const std::string& file, const CheckpointSummary& summary,
                        const std::vector<MemoryRow>& rows) {
  std::string text = fmt::format("{}\nformat       {}, {}, {}\n", OneLine(file), summary.format,
                                 FormatBytes(summary.file_bytes), HashFile(file));
  text += fmt::format("tensors      {} with {} numbers:", summary.tensors, summary.elements);
  for (const auto& [dtype, count] : summary.tensors_by_dtype) {
    text += fmt::format(" {} {}", count, dtype);
  }
  text += fmt::format("\n{}", ModelText(summary.model));
  if (!summary.ignored.empty()) {
    text += fmt::format("ignored      {} tensors, the first {}\n", summary.ignored.size(),
                        OneLine(summary.ignored.front()));
  }
  for (const auto& [key, value] : summary.metadata) {
    constexpr size_t kShown = 200;
    text += fmt::format("metadata     {}: {}{}\n", OneLine(key), OneLine(value.substr(0, kShown)),
                        value.size() > kShown ? " ..." : "");
  }
  return text + "memory of a run with the model's defaults\n" + MemoryTableText(rows, 0);
}

}  // namespace

ExitCode InfoCommand(const InfoOptions& given) {
  InfoOptions options = given;
  options.file = AsUsage([&] { return LookUpModel(given.file, given.models_dir).string(); });
  const CheckpointSummary summary = InspectCheckpoint(options.file, OnCpu());
  const std::vector<MemoryRow> rows = MemoryTable(summary.model, {summary.model.sliding_window});
  PrintOut(options.json ? JsonText(SummaryJson(options.file, summary, rows), 2) + "\n"
                        : SummaryText(options.file, summary, rows));
  return ExitCode::kOk;
}

Command AddInfoCommand(CLI::App* program) {
  CLI::App* app = program->add_subcommand("info", "describe a checkpoint");
  const auto options = std::make_shared<InfoOptions>();
  AddRequired(app, "FILE", "FILE", &options->file, "checkpoint (.pt or .safetensors), or its name");
  AddModelsDir(app, &options->models_dir);
  AddSwitch(app, "--json", &options->json, "as JSON");
  return {app, [options] { return InfoCommand(*options); }, [options] { return options->json; }};
}

}  // namespace lingbot::cli
