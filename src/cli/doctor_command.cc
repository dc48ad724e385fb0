#include "cli/doctor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/system_memory.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/machine_arguments.h"
#include "cli/memory_table.h"
#include "cli/model_lookup.h"
#include "cli/names.h"
#include "lingbot/model.h"
#include "lingbot/processor.h"
#include "output/manifest.h"
#include "tensor/device_memory.h"

namespace lingbot::cli {
namespace {

uint64_t PhysicalMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

// Windows worth trying on a machine that is too small for the first.
const std::vector<int>& Windows() {
  static const std::vector<int> windows = {64, 32, 16, 8};
  return windows;
}

nlohmann::ordered_json GpusJson() {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  for (const CudaDeviceInfo& gpu : CudaDevices()) {
    gpus.push_back({{"device", fmt::format("cuda:{}", gpu.ordinal)},
                    {"name", gpu.name},
                    {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                    {"memory_bytes", gpu.total_bytes}});
  }
  return gpus;
}

std::string GpusText() {
  std::string reason;
  std::string text;
  for (const CudaDeviceInfo& gpu : CudaDevices(&reason)) {
    UseCudaDevice(gpu.ordinal);
    text += fmt::format("cuda:{}       {}, compute capability {}.{}, {}, {} free\n", gpu.ordinal,
                        gpu.name, gpu.major, gpu.minor, FormatBytes(gpu.total_bytes),
                        FormatBytes(FreeCudaMemory()));
  }
  return text.empty() ? fmt::format("cuda         none: {}\n", reason) : text;
}

nlohmann::ordered_json MachineJson(const ProcessorInfo& processor, uint64_t available) {
  return {{"version", LINGBOT_VERSION},
          {"processor", processor.name},
          {"cores", processor.cores},
          {"kernels", processor.kernels},
          {"native_bfloat16", processor.native_bfloat16},
          {"default_precision", processor.native_bfloat16 ? "bf16" : "fp32"},
          {"matrix_library", processor.matrix_library},
          {"matrix_kernels", processor.matrix_kernels},
          {"memory_bytes", PhysicalMemory()},
          {"free_bytes", available},
          {"gpus", GpusJson()}};
}

std::string MachineText(const ProcessorInfo& processor, uint64_t available) {
  return fmt::format(
      "lingbot-map  {}\n"
      "processor    {}, {} cores usable\n"
      "kernels      {} (ours), {} ({})\n"
      "bfloat16     {}\n"
      "memory       {}, {} free\n"
      "{}",
      LINGBOT_VERSION, processor.name.empty() ? "unknown" : processor.name, processor.cores,
      processor.kernels, processor.matrix_kernels, processor.matrix_library,
      processor.native_bfloat16
          ? "multiplied natively: --precision auto is bf16"
          : "not multiplied natively: --precision auto is fp32; bf16 halves the memory",
      FormatBytes(PhysicalMemory()), available > 0 ? FormatBytes(available) : "an unknown part",
      GpusText());
}

ModelInfo ModelOf(const DoctorOptions& options) {
  if (options.model.empty()) return ReleasedModel();
  const auto path = AsUsage([&] { return LookUpModel(options.model, options.models_dir); });
  return InspectCheckpoint(path, OnCpu()).model;
}

bool UsesGpu(const DeviceChoice& device) {
  if (device.kind == DeviceKind::kCpu) return false;
  std::string reason;
  const bool there = !CudaDevices(&reason).empty();
  Check(there || device.kind != DeviceKind::kCuda, ErrorCode::kUnavailable,
        "--device {}: there is no GPU here: {}", NameOf(device), reason);
  return there;
}

}  // namespace

ExitCode DoctorCommand(const DoctorOptions& options) {
  ModelInfo model = ModelOf(options);
  const bool on_gpu = UsesGpu(options.device);
  if (on_gpu) {
    UseCudaDevice(options.device.ordinal);
    model.device = DeviceKind::kCuda;
    model.device_ordinal = options.device.ordinal;
  }
  const ProcessorInfo processor = DescribeProcessor();
  const uint64_t free = AvailableMemory();
  const uint64_t available = options.memory_limit > 0 ? options.memory_limit
                             : on_gpu                 ? FreeCudaMemory()
                                                      : free;
  const std::vector<MemoryRow> rows = MemoryTable(model, Windows());
  if (options.json) {
    nlohmann::ordered_json json = MachineJson(processor, free);
    json["model"] = model.source;
    json["device"] = DeviceOf(model);
    json["fits_into_bytes"] = available;
    json["memory"] = MemoryTableJson(rows, available);
    PrintOut(JsonText(json, 2) + "\n");
    return ExitCode::kOk;
  }
  PrintOut(
      MachineText(processor, free) +
      fmt::format("what streams of any length need with {} on {}{}; weights: {} in fp32, {} in "
                  "bf16\n",
                  OneLine(model.source), DeviceOf(model),
                  available > 0 ? fmt::format(", against {}", FormatBytes(available)) : "",
                  FormatBytes(rows.front().plan.weights),
                  FormatBytes(rows[Windows().size()].plan.weights)) +
      MemoryTableText(rows, available));
  return ExitCode::kOk;
}

Command AddDoctorCommand(CLI::App* program) {
  CLI::App* app =
      program->add_subcommand("doctor", "describe this machine and what fits into its memory");
  const auto options = std::make_shared<DoctorOptions>();
  AddName(app, "--model", "FILE", &options->model, "the released network's sizes",
          "checkpoint, or its name, whose sizes count");
  AddModelsDir(app, &options->models_dir);
  AddDevice(app, &options->device);
  AddMemoryLimit(app, &options->memory_limit, "what is free",
                 "what must fit into so much, such as 4GiB or 800MB");
  AddSwitch(app, "--json", &options->json, "as JSON");
  return {app, [options] { return DoctorCommand(*options); }, [options] { return options->json; }};
}

}  // namespace lingbot::cli
