#include "cli/export_command.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "base/check.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/run_arguments.h"
#include "cli/stop_signal.h"
#include "output/export_run.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

Json SummaryJson(const RunReader& run, const std::string& out, const ExportReport& report) {
  Json json = {{"status", report.cloud_problem.empty() ? "complete" : "failed"},
               {"run", run.folder().string()},
               {"run_status", run.status()},
               {"out", out},
               {"frames", report.frames},
               {"points", report.points},
               {"exports", ExportsJson(report.files)},
               {"warnings", report.warnings}};
  if (!report.cloud.is_null()) json["cloud"] = report.cloud;
  if (!report.cloud_problem.empty()) {
    json["error"] = {{"code", ErrorCodeName(ErrorCode::kInvalidArgument)},
                     {"message", report.cloud_problem}};
  }
  return json;
}

std::string SummaryText(const RunReader& run, const std::string& out, const ExportReport& report) {
  std::string text =
      fmt::format("{} frames of {} (run {}) in {}\n", report.frames, OneLine(run.folder().string()),
                  OneLine(run.status()), OneLine(out));
  for (const ExportedFiles& exported : report.files) {
    if (exported.files.empty()) continue;
    text +=
        fmt::format("  {:<14}{}\n", FormatOf(exported.kind).word, fmt::join(exported.files, ", "));
  }
  if (report.points > 0) text += fmt::format("{} points; ", report.points);
  return text + "the scale of the map is relative, not metres\n";
}

}  // namespace

ExitCode ExportCommand(const ExportCommandOptions& options) {
  Console console(options.quiet);
  const StopSignal stop;
  RunReader run(options.run);
  if (run.cut_short()) {
    console.Warn("the last record of a frame is cut short and was left out: the run was killed");
  }
  ExportRunOptions exporting;
  exporting.set = {options.kinds, options.cloud, options.masks, 0};
  exporting.out = options.out;
  exporting.overwrite = options.overwrite;
  Clock::time_point last = Clock::now();
  exporting.progress = [&](int64_t done) {
    constexpr std::chrono::milliseconds kOften(100);
    constexpr std::chrono::seconds kSeldom(5);
    if (Clock::now() - last > (console.is_terminal() ? Clock::duration(kOften) : kSeldom)) {
      console.Progress(fmt::format("frame {}/{}", done, run.frames()));
      last = Clock::now();
    }
    return !stop.received();
  };
  ExportReport report;
  try {
    report = ExportRun(&run, exporting);
  } catch (const Error& error) {
    if (!stop.received()) throw;
    PrintError(error.what());
    return ExitCode::kInterrupted;
  }
  for (const std::string& warning : report.warnings) console.Warn(warning);
  const std::string out = options.out.empty() ? options.run : options.out;
  if (options.json) {
    PrintOut(JsonText(SummaryJson(run, out, report), 2) + "\n");
  } else if (!options.quiet) {
    PrintOut(SummaryText(run, out, report));
  }
  if (report.cloud_problem.empty()) return ExitCode::kOk;
  PrintError(report.cloud_problem);
  return ExitCode::kFailed;
}

Command AddExportCommand(CLI::App* program) {
  CLI::App* app = program->add_subcommand(
      "export", "make other files from a run, whether it ended or was killed");
  const auto options = std::make_shared<ExportCommandOptions>();
  BeginGroup(app, "Outputs");
  AddRequired(app, "RUN", "DIR", &options->run, "folder of lingbot-map run");
  AddText(
      app, "--export", ListValue(ExportWords()),
      [options = options.get()](const std::string& list) {
        options->kinds = ParseExportList(list);
      },
      "none", "what to make, separated by commas: " + ExportWords())
      ->required();
  AddName(app, "--out", "DIR", &options->out, "the run's own folder", "folder for the files");
  AddSwitch(app, "--overwrite", &options->overwrite, "write beside other files");
  AddPointArguments(app, &options->cloud, &options->masks);
  BeginGroup(app, "Messages");
  AddSwitch(app, "--quiet", &options->quiet, "say nothing but warnings and errors");
  AddSwitch(app, "--json", &options->json, "summary as JSON on standard output");
  return {app, [options] { return ExportCommand(*options); }, [options] { return options->json; }};
}

}  // namespace lingbot::cli
