#include <memory>
#include <string>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/mask_folder.h"
#include "cli/run_arguments.h"

namespace lingbot::cli {
namespace {

double ReadPart(const std::string& text, const char* advice) {
  double value = 0;
  Check(CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1,
        ErrorCode::kInvalidArgument, "'{}' is not a part of the points, from 0 to below 1{}", text,
        advice);
  return value;
}

// What a run writes frame by frame is there whether it is named or not.
void TakeExportList(const std::string& list, OutputOptions* output) {
  output->ply = false;
  output->exports.clear();
  for (const ExportKind kind : ParseExportList(list)) {
    switch (kind) {
      case ExportKind::kDepth:
      case ExportKind::kConfidence:
      case ExportKind::kTum:
        break;
      case ExportKind::kPly:
        output->ply = true;
        break;
      default:
        output->exports.push_back(kind);
    }
  }
}

}  // namespace

void AddOutputArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Outputs");
  OutputOptions* output = &options->output;
  AddRequired(app, "--out", "DIR", &options->out,
              "folder for the results; made if it does not exist");
  AddSwitch(app, "--overwrite", &output->overwrite,
            "replace an earlier run, or write beside other files");
  CLI::Option* list = AddText(
      app, "--export", ListValue(ExportWords()),
      [output](const std::string& words) { TakeExportList(words, output); },
      "tum,ply,depth,confidence",
      "what to make, separated by commas; poses, depth and confidence are written as frames come "
      "and always there");
  AddSwitch(
      app, "--no-ply", [output] { output->ply = false; }, "write no point cloud")
      ->excludes(list);
  AddSwitch(
      app, "--no-depth", [output] { output->frames.depth_png = output->frames.depth_npy = false; },
      "write no depth files");
  AddSwitch(
      app, "--no-images", [output] { output->frames.images = false; },
      "do not keep the frames as the network saw them, which later exports take colours from");
}

void AddPointArguments(CLI::App* app, PointCloudOptions* cloud,
                       std::shared_ptr<MaskSource>* masks) {
  BeginGroup(app, "Point cloud");
  PointFilterOptions* filter = &cloud->filter;
  CLI::Option* quantile = AddText(
      app, "--conf", "PART",
      [filter](const std::string& word) {
        filter->confidence_quantile =
            ReadPart(word, "; for a confidence itself use --conf-threshold");
      },
      "0.5", "drop this part of the points, those of lowest confidence");
  AddNumber(
      app, "--conf-threshold", "CONFIDENCE",
      [filter](double value) { filter->min_confidence = static_cast<float>(value); }, 0, "none",
      "keep points of at least this confidence instead")
      ->excludes(quantile);
  AddText(
      app, "--distance-quantile", "PART",
      [filter](const std::string& word) { filter->distance_quantile = ReadPart(word, ""); }, "0",
      "drop this part of the points, those farthest from the camera that saw them");
  AddNumber(
      app, "--depth-edge", "PART", [filter](double part) { filter->depth_edge = part; }, 0, "0",
      "drop pixels whose depth differs from a neighbour's by more than this part, such as 0.05; 0 "
      "= off");
  AddText(
      app, "--mask-dir", "DIR",
      [masks](const std::string& folder) { *masks = std::make_shared<MaskFolder>(folder); }, "none",
      "pictures named like the images, or by number of frame; only where they are white are points "
      "made");
  AddNumber(
      app, "--voxel", "SIDE", [cloud](double side) { cloud->voxel_size = side; }, 0, "0",
      "at most one point in a cube of this side, in the model's unit; 0 = off");
  AddCount(app, "--max-points", &cloud->point_budget, 1, "2000000", "at most so many points",
           200'000'000);
}

void AddCloudArguments(CLI::App* app, RunOptions* options) {
  AddPointArguments(app, &options->output.cloud, &options->output.masks);
}

void AddMessageArguments(CLI::App* app, RunOptions* options) {
  BeginGroup(app, "Messages");
  AddSwitch(app, "--quiet", &options->quiet, "say nothing but warnings and errors");
  AddSwitch(app, "--json", &options->json, "summary as JSON on standard output");
}

}  // namespace lingbot::cli
