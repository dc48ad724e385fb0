#include "cli/eval_command.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "evaluation/plot.h"
#include "evaluation/report.h"
#include "evaluation/run_track.h"
#include "output/manifest.h"
#include "output/output_file.h"

namespace lingbot::cli {
namespace {

// A picture may be replaced; what is something else is more likely an input.
void CheckPlotPath(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(256, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  Check(start.empty() || start.find("<svg") != std::string::npos, ErrorCode::kInvalidArgument,
        "{} exists and is no SVG picture: --plot does not replace it; name another file",
        OneLine(path));
}

void ReadDeltas(const std::string& text, std::vector<int64_t>* deltas) {
  deltas->clear();
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    deltas->push_back(ReadCount(text.substr(start, end - start), 1, kMostCount));
    start = end + 1;
  }
}

void AddTruthArguments(CLI::App* app, EvalOptions* options) {
  BeginGroup(app, "Ground truth");
  AddRequired(app, "--ground-truth", "PATH", &options->truth,
              "folder (poses.txt, camera.json, depth/; or a COLMAP model), or a file of TUM or "
              "KITTI poses");
  AddName(app, "--truth-depth", "DIR", &options->truth_depth, "depth/ beside the poses",
          "folder of true depth maps (.png, .npy)");
  AddText(
      app, "--depth-scale", "FACTOR",
      [options](const std::string& word) {
        const double value = ReadNumber(word, 0);
        Check(value > 0, ErrorCode::kInvalidArgument, "must be above 0");
        options->reading.depth_scale = value;
      },
      "the camera file's", "true depth = value * this, for 16-bit images");
}

void AddEvalArguments(CLI::App* app, EvalOptions* options) {
  AddRequired(app, "RUN", "PATH", &options->run, "folder of lingbot-map run, or a TUM trajectory");
  AddTruthArguments(app, options);
  EvaluationOptions* evaluation = &options->evaluation;
  BeginGroup(app, "Comparison");
  AddChoice<AssociateBy>(app, "--associate", &evaluation->associate,
                         {{"auto", AssociateBy::kAuto},
                          {"time", AssociateBy::kTime},
                          {"index", AssociateBy::kIndex},
                          {"name", AssociateBy::kName}},
                         "auto", "what tells matching poses");
  AddNumber(
      app, "--tolerance", "SECONDS",
      [evaluation](double seconds) { evaluation->tolerance = seconds; }, 0, "0.01",
      "seconds that matched times may be apart");
  AddText(
      app, "--delta", "N,...",
      [evaluation](const std::string& word) { ReadDeltas(word, &evaluation->deltas); }, "1,10",
      "frames over which relative pose errors are taken");
  AddSwitch(app, "--all-pairs", &evaluation->all_pairs,
            "relative pose errors from every frame on, not only from every delta-th");
  AddChoice<DepthScaling>(app, "--depth-align", &evaluation->depth_scaling,
                          {{"sequence", DepthScaling::kSequence},
                           {"frame", DepthScaling::kFrame},
                           {"none", DepthScaling::kNone}},
                          "sequence", "median scale of the depth");
  BeginGroup(app, "Outputs");
  AddName(app, "--plot", "FILE", &options->plot, "none",
          "write trajectories and errors as an SVG picture");
  AddSwitch(app, "--json", &options->json, "as JSON");
}

}  // namespace

ExitCode EvalCommand(const EvalOptions& options) {
  if (!options.plot.empty()) CheckPlotPath(options.plot);
  GroundTruthOptions reading = options.reading;
  reading.path = options.truth;
  reading.depth = options.truth_depth;
  reading.tolerance = options.evaluation.tolerance;
  const RunTrack run = AsUsage([&] { return ReadRun(options.run); });
  const GroundTruth truth = AsUsage([&] { return ReadGroundTruth(reading); });
  const Evaluation evaluation = AsUsage([&] { return Evaluate(run, truth, options.evaluation); });
  const EvaluationNames names = {OneLine(options.run), OneLine(options.truth), truth.format};
  if (!options.plot.empty()) {
    WriteFile(options.plot, EvaluationPlot(evaluation, names.run + " against " + names.truth));
  }
  Console console(/*quiet=*/false);
  for (const std::string& warning : evaluation.warnings) console.Warn(warning);
  PrintOut(options.json ? JsonText(EvaluationJson(evaluation, options.evaluation, names), 2) + "\n"
                        : EvaluationText(evaluation, options.evaluation, names));
  return ExitCode::kOk;
}

Command AddEvalCommand(CLI::App* program) {
  CLI::App* app =
      program->add_subcommand("eval", "compare a run or a trajectory with ground truth");
  const auto options = std::make_shared<EvalOptions>();
  AddEvalArguments(app, options.get());
  return {app, [options] { return EvalCommand(*options); }, [options] { return options->json; }};
}

}  // namespace lingbot::cli
