// Runs recorded streams of the original network again and says how far the results are apart.
//
//   golden_check FILE... [--model FILE] [--device cpu] [--precision fp32|bf16] [--attention NAME]
//   [--threads N]
//
// The weights follow from the seed in the recording, or come from --model. One line per file; exit
// code 0 if all pass, 1 if one fails, 2 on a usage error. Besides recorded streams, FILE may be a
// recording of preprocessing (metadata "cases") or a table of image sizes (JSON).

#include <cstdio>
#include <fstream>
#include <map>

#include "base/check.h"
#include "base/option_names.h"
#include "tools/golden_case.h"
#include "tools/tool_main.h"
#include "weights/checkpoint.h"

namespace lingbot {
namespace {

struct Settings {
  std::vector<std::string> files;
  std::string model;  // checkpoint; empty: weights of the recording's seed
  std::string device = "cpu";
  Precision precision = Precision::kFloat32;
  AttentionBackend attention = AttentionBackend::kAuto;
  int threads = 0;
  bool graph = true;
  bool poison = false;
  KvLayout layout = KvLayout::kPlanes;
};

const char* NameOf(GoldenReport::Stats stats) {
  switch (stats) {
    case GoldenReport::Stats::kNone:
      return "none";
    case GoldenReport::Stats::kExact:
      return "exact";
    case GoldenReport::Stats::kDiffer:
      return "differ";
  }
  return "?";
}

bool Verdict(bool pass) {
  std::printf(" %s\n", pass ? "PASS" : "FAIL");
  std::fflush(stdout);
  return pass;
}

void Print(const std::string& name, const GoldenReport& report) {
  std::printf("%s pose_max_abs=%.3g depth_rel_l2=%.3g conf_rel_l2=%.3g cache_stats=%s",
              name.c_str(), report.pose_max_abs, report.depth_rel_l2, report.confidence_rel_l2,
              NameOf(report.cache_stats));
  if (report.scale_max_abs) {
    std::printf(" scales_max_abs=%.3g transforms_max_abs=%.3g", *report.scale_max_abs,
                report.transform_max_abs.value_or(0.0));
  }
  if (report.probe_rel_l2) {
    std::printf(" probe_rel_l2=%.3g (%s)", *report.probe_rel_l2, report.worst_probe.c_str());
  }
}

Model ModelFor(const GoldenCase& golden, const Settings& settings) {
  const DeviceChoice device = ParseDevice(settings.device);
  if (settings.model.empty()) {
    return golden.MakeModel(settings.precision, settings.threads, device);
  }
  ModelOptions options;
  options.spare_gpu_stack = true;
  options.device = device.kind;
  options.device_ordinal = device.ordinal;
  options.precision = settings.precision;
  options.threads = settings.threads;
  return Model::Load(settings.model, options);
}

bool CheckStream(const std::string& file, const Settings& settings) {
  const GoldenCase golden(file);
  const Model model = ModelFor(golden, settings);
  SessionOptions options = golden.StreamOptions();
  options.attention = settings.attention;
  options.graph = settings.graph;
  options.threads = settings.threads;
  options.poison_cache = settings.poison;
  options.kv_layout = settings.layout;
  const GoldenReport report = CheckGolden(golden, model, options);
  Print(golden.name(), report);
  return Verdict(report.pass);
}

bool CheckSizes(const std::string& file) {
  std::ifstream in(file);
  const nlohmann::json rows = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  Check(rows.is_array(), ErrorCode::kUnsupportedFormat, "{} is no table of image sizes", file);
  const int64_t wrong = CountWrongSizes(rows);
  std::printf("%s rows=%zu wrong=%lld", std::filesystem::path(file).stem().c_str(), rows.size(),
              static_cast<long long>(wrong));
  return Verdict(wrong == 0);
}

bool CheckFile(const std::string& file, const Settings& settings) {
  if (std::filesystem::path(file).extension() == ".json") return CheckSizes(file);
  const std::unique_ptr<TensorSource> source = OpenCheckpoint(file);
  if (!source->metadata().contains("cases")) return CheckStream(file, settings);
  const int64_t differing = CountDifferingPixels(*source);
  std::printf("%s pixels_differing=%lld", std::filesystem::path(file).stem().c_str(),
              static_cast<long long>(differing));
  return Verdict(differing == 0);
}

int Run(const Settings& settings) {
  ParseDevice(settings.device);  // before the first file
  bool all = true;
  for (const std::string& file : settings.files) {
    try {
      all = CheckFile(file, settings) && all;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "golden_check: error: %s: %s\n", file.c_str(), e.what());
      all = false;
    }
  }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace lingbot

int main(int argc, char** argv) {
  using namespace lingbot;  // NOLINT: the program's own namespace
  Settings settings;
  CLI::App app("Compares the engine with recorded outputs of the original network", "golden_check");
  app.add_option("FILE", settings.files, "recordings")->required();
  app.add_option("--model", settings.model,
                 "checkpoint to compare, for recordings with trained weights");
  app.add_option("--device", settings.device, "cpu, cuda or cuda:N");
  const std::map<std::string, Precision> precisions = {{"fp32", Precision::kFloat32},
                                                       {"bf16", Precision::kBFloat16}};
  app.add_option("--precision", settings.precision, "fp32 or bf16")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--attention", settings.attention, "who computes attention")
      ->transform(CLI::CheckedTransformer(AttentionBackendNames()));
  app.add_flag("!--no-graph", settings.graph, "GPU: do not replay recorded steps");
  app.add_option("--threads", settings.threads, "threads; 0 = all cores");
  const std::map<std::string, KvLayout> layouts = {{"planes", KvLayout::kPlanes},
                                                   {"interleaved", KvLayout::kInterleaved}};
  app.add_option("--layout", settings.layout, "arrangement of the cache: planes or interleaved")
      ->transform(CLI::CheckedTransformer(layouts));
  app.add_flag("--poison", settings.poison, "fill unused cache memory with NaN");
  return ToolMain(&app, argc, argv, [&] { return Run(settings); });
}
