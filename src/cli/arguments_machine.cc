#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/byte_size.h"
#include "cli/machine_arguments.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {

void AddModelsDir(CLI::App* app, std::string* target) {
  AddText(
      app, "--models-dir", "DIR",
      [target](const std::string& word) {
        std::error_code problem;
        Check(std::filesystem::is_directory(word, problem), ErrorCode::kInvalidArgument,
              "'{}' is no folder", word);
        *target = word;
      },
      "models/ of the program", "folder to look into for the model's name");
}

void AddDevice(CLI::App* app, DeviceChoice* target) {
  AddText(
      app, "--device", "auto|cpu|cuda[:N]",
      [target](const std::string& word) { *target = ParseDevice(word); }, "auto",
      "the processor, or GPU number N; auto: a GPU if there is one");
}

void AddAttention(CLI::App* app, AttentionBackend* target) {
  const auto& backends = AttentionBackendNames();
  AddChoice<AttentionBackend>(app, "--attention", target, {backends.begin(), backends.end()},
                              "auto", "who computes attention");
}

void AddThreads(CLI::App* app, int* target) {
  AddCount(app, "--threads", target, 1, "all cores", "processor threads", 1024);
}

void AddMemoryLimit(CLI::App* app, uint64_t* target, const std::string& fallback,
                    const std::string& text) {
  AddText(
      app, "--memory-limit", "SIZE",
      [target](const std::string& word) { *target = ParseByteSize(word); }, fallback, text);
}

void AddMachineArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Model and machine");
  AddName(app, "--model", "FILE", &options->model, "nano, the bundled one",
          "checkpoint (.pt or .safetensors), or its name in a folder of models");
  AddModelsDir(app, &options->models_dir);
  AddCount(app, "--image-size", &options->image_size, 1, "the model's",
           "width of the network's input in pixels, a multiple of its patch size", kMaxImageSize);
  AddDevice(app, &options->device);
  AddChoice<Precision>(
      app, "--precision", &options->precision,
      {{"auto", Precision::kAuto}, {"fp32", Precision::kFloat32}, {"bf16", Precision::kBFloat16}},
      "auto", "of weights and cache; auto: bf16 where the device multiplies it");
  AddAttention(app, &options->session.attention);
  AddSwitch(
      app, "--no-graph", [options] { options->session.graph = false; },
      "GPU: launch every step anew instead of replaying a CUDA graph");
  AddThreads(app, &options->session.threads);
  AddMemoryLimit(app, &options->memory_limit, "what is free",
                 "most memory this process may plan for, such as 4GiB or 800MB");
}

}  // namespace lingbot::cli
