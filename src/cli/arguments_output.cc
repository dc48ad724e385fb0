#include <string>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {
namespace {

double ReadQuantile(const std::string& text) {
  double value = 0;
  Check(CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1,
        ErrorCode::kInvalidArgument,
        "'{}' is not a part of the points, from 0 to below 1; for a confidence itself use "
        "--conf-threshold",
        text);
  return value;
}

}  // namespace

void AddOutputArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Outputs");
  OutputOptions* output = &options->output;
  AddRequired(app, "--out", "DIR", &options->out,
              "folder for the results; made if it does not exist");
  AddSwitch(app, "--overwrite", &output->overwrite,
            "replace an earlier run, or write beside other files");
  AddSwitch(
      app, "--no-ply", [output] { output->ply = false; }, "write no point cloud");
  AddSwitch(
      app, "--no-depth", [output] { output->frames.depth_png = output->frames.depth_npy = false; },
      "write no depth files");
  AddSwitch(
      app, "--no-images", [output] { output->frames.images = false; },
      "do not keep the frames as the network saw them, which later exports take colours from");
}

void AddCloudArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Point cloud");
  OutputOptions* output = &options->output;
  CLI::Option* quantile = AddText(
      app, "--conf", "PART",
      [output](const std::string& word) {
        output->cloud.filter.confidence_quantile = ReadQuantile(word);
      },
      "0.5", "drop this part of the points, those of lowest confidence");
  AddNumber(
      app, "--conf-threshold", "CONFIDENCE",
      [output](double value) { output->cloud.filter.min_confidence = static_cast<float>(value); },
      0, "none", "keep points of at least this confidence instead")
      ->excludes(quantile);
  AddNumber(
      app, "--voxel", "SIDE", [output](double side) { output->cloud.voxel_size = side; }, 0, "0",
      "at most one point in a cube of this side, in the model's unit; 0 = off");
  AddCount(app, "--max-points", &output->cloud.point_budget, 1, "2000000", "at most so many points",
           200'000'000);
}

void AddMessageArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Messages");
  AddSwitch(app, "--quiet", &options->quiet, "say nothing but warnings and errors");
  AddSwitch(app, "--json", &options->json, "summary as JSON on standard output");
}

}  // namespace lingbot::cli
