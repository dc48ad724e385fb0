#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/byte_size.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {

void AddMachineArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Model and machine");
  AddName(app, "--model", "FILE", &options->model, "nano, the bundled one",
          "checkpoint (.pt or .safetensors), or its name in a folder of models");
  AddText(
      app, "--models-dir", "DIR",
      [options](const std::string& word) {
        std::error_code problem;
        Check(std::filesystem::is_directory(word, problem), ErrorCode::kInvalidArgument,
              "'{}' is no folder", word);
        options->models_dir = word;
      },
      "models/ of the program", "folder to look into for the model's name");
  AddCount(app, "--image-size", &options->image_size, 1, "the model's",
           "width of the network's input in pixels, a multiple of its patch size", kMaxImageSize);
  AddText(
      app, "--device", "auto|cpu|cuda[:N]",
      [options](const std::string& word) { options->device = ParseDevice(word); }, "auto",
      "the processor, or GPU number N; auto: a GPU if there is one");
  AddChoice<Precision>(
      app, "--precision", &options->precision,
      {{"auto", Precision::kAuto}, {"fp32", Precision::kFloat32}, {"bf16", Precision::kBFloat16}},
      "auto", "of weights and cache; auto: bf16 where the device multiplies it");
  const auto& backends = AttentionBackendNames();
  AddChoice<AttentionBackend>(app, "--attention", &options->session.attention,
                              {backends.begin(), backends.end()}, "auto", "who computes attention");
  AddSwitch(
      app, "--no-graph", [options] { options->session.graph = false; },
      "GPU: launch every step anew instead of replaying a CUDA graph");
  AddCount(app, "--threads", &options->session.threads, 1, "all cores", "processor threads", 1024);
  AddText(
      app, "--memory-limit", "SIZE",
      [options](const std::string& word) { options->memory_limit = ParseByteSize(word); },
      "what is free", "most memory this process may plan for, such as 4GiB or 800MB");
}

}  // namespace lingbot::cli
