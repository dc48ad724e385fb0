#include "cli/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/system_memory.h"
#include "cli/console.h"
#include "cli/frame_stream.h"
#include "cli/model_lookup.h"
#include "cli/names.h"
#include "cli/pipeline.h"
#include "cli/resume.h"
#include "cli/run_arguments.h"
#include "cli/run_plan.h"
#include "cli/run_summary.h"
#include "cli/snapshot_keeper.h"
#include "cli/stop_signal.h"
#include "output/manifest.h"

namespace lingbot::cli {
namespace {

using Clock = std::chrono::steady_clock;

void AnnouncePlan(const RunPlan& plan, Console* console) {
  const ModelInfo& model = plan.checkpoint.model;
  const ResizeSize& size = plan.size;
  console->Note(fmt::format(
      "{} of {}x{} pixels, {} on {} in {}, attention {}, plan {} of "
      "memory ({} weights)",
      FramesText(plan.frames), size.out_width, size.out_height,
      plan.windows ? "windowed" : "streaming", DeviceOf(model), NameOf(model.precision),
      NameOf(ResolveAttention(model, plan.session)),
      FormatBytes(plan.memory.total() + plan.own_memory), FormatBytes(plan.memory.weights)));
  if (size.resized_height > size.out_height) {
    console->Note(fmt::format(
        "portrait images: crop mode cuts off {:.0f} % of their height; --preprocess pad keeps all",
        100.0 * (1.0 -
                 static_cast<double>(size.out_height) / static_cast<double>(size.resized_height))));
  }
  if (!plan.policy.mode_reason.empty()) {
    console->Note(fmt::format("mode {} (automatic: {})", plan.windows ? "windowed" : "streaming",
                              plan.policy.mode_reason));
  }
  console->Note(plan.policy.keyframes);
  const int64_t together = plan.frames == 0
                               ? plan.session.scale_frames
                               : std::min<int64_t>(plan.session.scale_frames, plan.frames);
  if (together > 1) {
    console->Note(
        fmt::format("the first {} frames are processed together and fix the scale, which "
                    "is relative, not metres",
                    together));
  }
}

// The options with the model's path in place of its name.
RunOptions WithModel(const RunOptions& given, Console* console) {
  RunOptions options = given;
  if (!given.model.empty()) {
    options.model = AsUsage([&] { return LookUpModel(given.model, given.models_dir).string(); });
    return options;
  }
  try {
    options.model = LookUpModel(kBundledModel, given.models_dir).string();
  } catch (const Error& error) {
    Fail(error.code(), "no --model was given, and the bundled one is missing: {}", error.what());
  }
  console->Note(fmt::format(
      "no --model given: using the bundled model {} ({}), which was trained on rendered rooms; "
      "docs/models.md says where the released ones are",
      kBundledModel, options.model));
  return options;
}

Model LoadModel(const RunOptions& options, Console* console) {
  ModelOptions model = ModelOptionsOf(options);
  model.log = [console](const std::string& line) { console->Warn(line); };
  console->Note(fmt::format("loading {}", options.model));
  return Model::Load(options.model, model);
}

OutputOptions OutputOptionsOf(const RunOptions& options, const RunPlan& plan) {
  OutputOptions output = options.output;
  output.expected_frames = plan.frames;
  return output;
}

// Ends the run's folder: the cloud of the frames there are, the manifest. Where even that fails
// (a full disk), notes the outcome; its first error stays the one to report.
RunReport FinishFolder(const Outcome& outcome, RunSummary summary, int64_t frames,
                       RunWriter* writer, Outcome* final_outcome) {
  summary.status = NameOf(outcome.status);
  summary.error = outcome.message;
  *final_outcome = outcome;
  try {
    RunReport report = writer->Finish(summary);
    if (outcome.status == Outcome::Status::kComplete && !report.problem.empty()) {
      *final_outcome = {Outcome::Status::kFailed, ErrorCode::kCorruptFile, report.problem};
    }
    return report;
  } catch (const Error& error) {
    if (outcome.status == Outcome::Status::kComplete) {
      *final_outcome = {Outcome::Status::kFailed, error.code(), error.what()};
    }
  } catch (const std::bad_alloc&) {
    if (outcome.status == Outcome::Status::kComplete) {
      *final_outcome = {Outcome::Status::kFailed, ErrorCode::kOutOfMemory,
                        "out of memory while making the point cloud; --max-points needs less"};
    }
  }
  writer->RecordFailure(final_outcome->message);
  RunReport report;
  report.frames = frames;
  return report;
}

// A run that came as far as its first frame.
struct FinishedRun {
  Outcome outcome;
  RunReport report;
  nlohmann::ordered_json times;
  nlohmann::ordered_json health;
};

// Loads and processes; what it throws belongs to the time before the first frame.
FinishedRun RunInFolder(const RunOptions& options, const RunPlan& plan, const ResumePlan& resume,
                        const ThreadTeam& team, const StopSignal& stop, RunWriter* writer,
                        Console* console) {
  const auto start = Clock::now();
  const Model model = LoadModel(options, console);
  FrameStream stream(model, plan.size.out_height, plan.size.out_width, plan.session, plan.windows);
  if (resume.kind == ResumePlan::Kind::kFromSnapshot) {
    LoadRun(SnapshotPath(options), &stream, writer);
  }
  const double load_seconds = std::chrono::duration<double>(Clock::now() - start).count();

  SnapshotKeeper snapshots(options, RunInfoOf(options, plan), stream, *writer, resume.position,
                           console);
  Pipeline pipeline(plan, options.skip_bad, team, &stream, writer, stop, resume.position,
                    &snapshots, console);
  const Outcome computed = pipeline.Run();
  FinishedRun run;
  run.times = TimesJson(pipeline.times(), pipeline.new_frames(), load_seconds, stream.windowed());
  RunSummary summary;
  summary.timings = run.times;
  summary.windows = WindowsJson(stream.transforms());
  summary.health = run.health = HealthJson(pipeline.health());
  run.report = FinishFolder(computed, std::move(summary), pipeline.frames(), writer, &run.outcome);
  if (run.outcome.status == Outcome::Status::kComplete) snapshots.RemoveUnlessKept();
  if (!pipeline.input_problems().empty()) {
    run.report.warnings.push_back(pipeline.input_problems());
  }
  return run;
}

// Where the frames of a run that did not end well are, if there are any.
std::string Remains(const RunOptions& options, const RunPlan& plan, const FinishedRun& run) {
  const int64_t frames = run.report.frames;
  if (run.outcome.status == Outcome::Status::kInterrupted) {
    return frames > 0 ? fmt::format("; they are in {}", options.out) : "";
  }
  const std::string of_all = plan.frames > 0 ? fmt::format(" of {}", plan.frames) : "";
  return frames > 0 ? fmt::format(" ({}{} frames are in {})", frames, of_all, options.out)
                    : fmt::format(" (before the first{} frames was done)", of_all);
}

ExitCode Report(const RunOptions& options, const RunPlan& plan, const FinishedRun& run,
                Console* console) {
  const RunReport& report = run.report;
  for (const std::string& warning : report.warnings) console->Warn(warning);
  if (options.json) {
    nlohmann::ordered_json summary = SummaryJson(options, plan, run.outcome, report, run.times);
    summary["health"] = run.health;
    PrintOut(JsonText(summary, 2) + "\n");
  } else if (!options.quiet) {
    PrintOut(SummaryText(options, plan, report, run.times));
  }
  if (run.outcome.status == Outcome::Status::kComplete) return ExitCode::kOk;
  PrintError(run.outcome.message + Remains(options, plan, run));
  return run.outcome.status == Outcome::Status::kFailed ? ExitCode::kFailed
                                                        : ExitCode::kInterrupted;
}

// What `--resume` came to, in a line.
void AnnounceResume(const RunOptions& options, const ResumePlan& resume, Console* console) {
  switch (resume.kind) {
    case ResumePlan::Kind::kNothingThere:
      console->Note(fmt::format("nothing to resume in {}: this is a new run", options.out));
      break;
    case ResumePlan::Kind::kComplete:
      console->Note(fmt::format("the run in {} is complete: {} frames; nothing is left to do",
                                options.out, resume.position.written));
      break;
    case ResumePlan::Kind::kFromStart:
      console->Note(fmt::format("there is no snapshot in {}: computing everything from the start",
                                options.out));
      break;
    case ResumePlan::Kind::kFromSnapshot:
      console->Note(fmt::format("resuming from a snapshot after frame {}", resume.position.given));
      break;
  }
}

// The summary of a run that was complete before.
ExitCode ReportComplete(const RunOptions& options, const ResumePlan& resume) {
  if (options.json) {
    const nlohmann::ordered_json json = {{"status", "complete"},
                                         {"out", options.out},
                                         {"frames", resume.position.written},
                                         {"changed", false}};
    PrintOut(JsonText(json, 2) + "\n");
  }
  return ExitCode::kOk;
}

}  // namespace

ExitCode RunCommand(const RunOptions& given) {
  Console console(given.quiet);
  const RunOptions options = WithModel(given, &console);
  const ThreadTeam team(options.session.threads);
  const RunPlan plan = PlanRun(options, team, &console);
  AnnouncePlan(plan, &console);
  ResumePlan resume;
  if (options.resume) {
    resume = PlanResume(options, plan);
    AnnounceResume(options, resume, &console);
    if (resume.kind == ResumePlan::Kind::kComplete) return ReportComplete(options, resume);
  }
  const StopSignal stop;
  RunWriter writer(options.out, OutputOptionsOf(options, plan), RunInfoOf(options, plan),
                   resume.kind == ResumePlan::Kind::kFromSnapshot ? RunWriter::Start::kResume
                                                                  : RunWriter::Start::kNew);
  FinishedRun run;
  try {
    run = RunInFolder(options, plan, resume, team, stop, &writer, &console);
  } catch (const std::exception& error) {
    writer.RecordFailure(error.what());
    throw;
  }
  return Report(options, plan, run, &console);
}

Command AddRunCommand(CLI::App* program) {
  CLI::App* app = program->add_subcommand(
      "run", "map a video or a folder of images: poses, depth and a point cloud");
  const auto options = std::make_shared<RunOptions>();
  AddRunArguments(app, options.get());
  return {app, [options] { return RunCommand(*options); }, [options] { return options->json; }};
}

}  // namespace lingbot::cli
