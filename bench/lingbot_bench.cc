// Measures streams and single operators: lingbot-bench stream, lingbot-bench ops.

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/option_names.h"
#include "bench/ops_bench.h"
#include "bench/stream_bench.h"
#include "tools/hashed_model.h"
#include "tools/tool_main.h"

namespace lingbot {
namespace {

const std::map<std::string, Precision> kPrecisions = {
    {"auto", Precision::kAuto}, {"fp32", Precision::kFloat32}, {"bf16", Precision::kBFloat16}};

// A network small enough for thousands of frames.
constexpr const char* kTinyConfig = R"({
  "img_size": 112, "embed_dim": 128, "num_heads": 2, "depth": 4, "vit_depth": 2,
  "taps": [0, 1, 2, 3], "camera_depth": 2, "camera_heads": 2, "dpt_features": 32,
  "dpt_channels": [32, 48, 64, 64], "scale_frames": 3, "sliding_window": 4, "seed": 1})";

struct StreamArguments {
  StreamOptions options;
  std::string config;
  std::string size = "tiny";
  std::string device = "cpu";
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  bool json = false;
};

struct OpsArguments {
  OpsOptions options;
  bool json = false;
};

nlohmann::json ConfigOf(const StreamArguments& arguments) {
  if (!arguments.config.empty()) return ReadModelConfig(arguments.config);
  return arguments.size == "tiny" ? nlohmann::json::parse(kTinyConfig) : nlohmann::json::object();
}

void RunStream(const StreamArguments& arguments) {
  StreamOptions options = arguments.options;
  options.started = arguments.started;
  const DeviceChoice device = ParseDevice(arguments.device);
  options.device = device.kind;
  options.device_ordinal = device.ordinal;
  options.session.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const StreamReport report = BenchStream(ConfigOf(arguments), options);
  if (arguments.json) {
    fmt::print("{}\n", StreamJson(report).dump(2));
  } else {
    fmt::print("{}", StreamText(report));
  }
}

void RunOps(const OpsArguments& arguments) {
  const OpsOptions& options = arguments.options;
  const Machine machine = DescribeMachine();
  const int threads = ThreadTeam(options.threads).size();
  if (arguments.json) {
    nlohmann::json rows = nlohmann::json::array();
    BenchOps(options, [&](const RateRow& row) { rows.push_back(RateJson(row)); });
    const nlohmann::json report = {{"machine", MachineJson(machine, threads)}, {"rates", rows}};
    fmt::print("{}\n", report.dump(2));
    return;
  }
  // With the first row, so that a section that there is not leaves nothing behind.
  std::string heading = MachineText(machine, threads) + RateHeading();
  BenchOps(options, [&heading](const RateRow& row) {
    fmt::print("{}{}", heading, RateText(row));
    heading.clear();
    std::fflush(stdout);
  });
}

void AddStream(CLI::App& app, StreamArguments& a) {
  CLI::App* command = app.add_subcommand(
      "stream",
      "A session over random frames with hashed weights: ms a frame by stage, memory, "
      "hash of the outputs");
  SessionOptions& session = a.options.session;
  session.stage_times = true;
  command->add_option("--height", a.options.height, "Pixels, a multiple of the patch size")
      ->capture_default_str();
  command->add_option("--width", a.options.width, "Pixels, a multiple of the patch size")
      ->capture_default_str();
  command->add_option("--frames", a.options.frames)->capture_default_str();
  const auto size = command->add_option("--size", a.size, "tiny or released")
                        ->check(CLI::IsMember({"tiny", "released"}))
                        ->capture_default_str();
  command->add_option("--config", a.config, "JSON file with the model's sizes and seed")
      ->excludes(size);
  command->add_option("--scale-frames", session.scale_frames, "0 = the model's own");
  command->add_option("--window", session.sliding_window, "0 = the model's own");
  command->add_option("--keyframe-interval", session.keyframe_interval)->capture_default_str();
  command->add_option("--trajectory-frames", session.trajectory_frames)->capture_default_str();
  command->add_option("--precision", a.options.precision, "auto, fp32 or bf16")
      ->transform(CLI::CheckedTransformer(kPrecisions));
  command->add_option("--attention", session.attention, "Who computes attention")
      ->transform(CLI::CheckedTransformer(AttentionBackendNames()));
  command->add_option("--device", a.device, "cpu, cuda or cuda:N")->capture_default_str();
  command->add_flag("!--no-graph", session.graph, "GPU: do not replay recorded steps");
  command->add_flag("!--no-stages", session.stage_times,
                    "GPU: leave out the events between stages, which cost a little time");
  command->add_option("--memory-limit", session.memory_limit, "Bytes; 0 = what is free");
  command->add_flag("--poison", session.poison_cache, "Fill unused cache memory with NaN");
  command->add_option("--threads", session.threads, "0 = all cores");
  command->add_flag("--json", a.json, "Print JSON");
}

void AddOps(CLI::App& app, OpsArguments& a) {
  CLI::App* command = app.add_subcommand(
      "ops",
      "Rates of single operators at the released network's sizes, beside the matrix "
      "library's own");
  command->add_option("--threads", a.options.threads, "0 = all cores");
  command->add_option("--seconds", a.options.seconds, "Of measuring, per operator")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--only", a.options.sections,
                      fmt::format("Sections: {}", fmt::join(SectionNames(), ", ")));
  command->add_flag("--json", a.json, "Print JSON");
}

int Main(int argc, char** argv) {
  CLI::App app("Measures lingbot on this machine", "lingbot-bench");
  app.require_subcommand(0, 1);  // none is named below
  StreamArguments stream;
  OpsArguments ops;
  AddStream(app, stream);
  AddOps(app, ops);
  return ToolMain(&app, argc, argv, [&] {
    Check(!app.get_subcommands().empty(), ErrorCode::kInvalidArgument,
          "which benchmark? usage: lingbot-bench stream|ops [OPTIONS]; see lingbot-bench --help");
    if (app.got_subcommand("stream")) {
      RunStream(stream);
    } else {
      RunOps(ops);
    }
    return 0;
  });
}

}  // namespace
}  // namespace lingbot

int main(int argc, char** argv) { return lingbot::Main(argc, argv); }
