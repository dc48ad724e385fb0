#include "cli/eval_command.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/console.h"
#include "evaluation/plot.h"
#include "evaluation/report.h"
#include "evaluation/run_track.h"
#include "output/manifest.h"
#include "output/output_file.h"

namespace lingbot::cli {
namespace {

template <typename T>
void AddWord(CLI::App* app, const std::string& name, T* target,
             const std::map<std::string, T>& words, const std::string& fallback,
             const std::string& text) {
  app->add_option(name, *target, text)
      ->transform(CLI::CheckedTransformer(words).description(""))
      ->default_str(fallback);
}

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

std::string NotEmpty(const std::string& value) {
  return value.empty() ? "a path is empty" : std::string();
}

void AddSeconds(CLI::App* app, double* target) {
  app->add_option("--tolerance", *target, "seconds that matched times may be apart")
      ->check([](const std::string& text) {
        double value = 0;
        const bool usable =
            CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value >= 0;
        return usable ? std::string() : "must be a number of seconds, at least 0";
      })
      ->default_str("0.01");
}

void AddDepthScale(CLI::App* app, std::optional<double>* target) {
  app->add_option_function<double>(
         "--depth-scale",
         [target](double value) {
           if (!std::isfinite(value) || value <= 0) {
             throw CLI::ValidationError("--depth-scale", "must be a positive number");
           }
           *target = value;
         },
         "true depth = value * this, for 16-bit images")
      ->default_str("the camera file's");
}

}  // namespace

void AddEvalArguments(CLI::App* app, EvalOptions* options) {
  app->add_option("RUN", options->run, "folder of lingbot-map run, or a TUM trajectory")
      ->required()
      ->check(NotEmpty);
  app->add_option("--ground-truth", options->truth,
                  "folder (poses.txt, camera.json, depth/; or a COLMAP model), or a file of TUM or "
                  "KITTI poses")
      ->required()
      ->check(NotEmpty);
  app->add_option("--truth-depth", options->truth_depth, "folder of true depth maps (.png, .npy)")
      ->default_str("depth/ beside the poses");
  AddDepthScale(app, &options->reading.depth_scale);
  EvaluationOptions* evaluation = &options->evaluation;
  AddWord<AssociateBy>(app, "--associate", &evaluation->associate,
                       {{"auto", AssociateBy::kAuto},
                        {"time", AssociateBy::kTime},
                        {"index", AssociateBy::kIndex},
                        {"name", AssociateBy::kName}},
                       "auto", "what tells matching poses: auto, time, index or name");
  AddSeconds(app, &evaluation->tolerance);
  app->add_option("--delta", evaluation->deltas,
                  "frames over which relative pose errors are taken, such as 1,10")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->default_str("1,10");
  app->add_flag("--all-pairs", evaluation->all_pairs,
                "relative pose errors from every frame on, not only from every delta-th");
  AddWord<DepthScaling>(app, "--depth-align", &evaluation->depth_scaling,
                        {{"sequence", DepthScaling::kSequence},
                         {"frame", DepthScaling::kFrame},
                         {"none", DepthScaling::kNone}},
                        "sequence", "median scale of the depth: sequence, frame or none");
  app->add_option("--plot", options->plot, "write trajectories and errors as an SVG picture")
      ->check(NotEmpty);
  app->add_flag("--json", options->json, "as JSON");
}

ExitCode EvalCommand(const EvalOptions& options) {
  if (!options.plot.empty()) CheckPlotPath(options.plot);
  GroundTruthOptions reading = options.reading;
  reading.path = options.truth;
  reading.depth = options.truth_depth;
  reading.tolerance = options.evaluation.tolerance;
  const RunTrack run = ReadRun(options.run);
  const GroundTruth truth = ReadGroundTruth(reading);
  const Evaluation evaluation = Evaluate(run, truth, options.evaluation);
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

}  // namespace lingbot::cli
