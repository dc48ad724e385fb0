#ifndef LINGBOT_CLI_RUN_SUMMARY_H_
#define LINGBOT_CLI_RUN_SUMMARY_H_

#include <nlohmann/json.hpp>
#include <string>

#include "cli/frame_stream.h"
#include "cli/pipeline.h"
#include "cli/run_options.h"
#include "cli/run_plan.h"
#include "output/run_writer.h"

namespace lingbot::cli {

// What the manifest says of a run from its start: input, model, options as they came to be (with
// every default resolved), preprocessing.
RunInfo RunInfoOf(const RunOptions& options, const RunPlan& plan);

// Seconds by stage and per frame, for manifest and summary.
nlohmann::ordered_json TimesJson(const RunTimes& times, int64_t frames, double load_seconds,
                                 bool windowed);

// What TrackingHealth has seen.
nlohmann::ordered_json HealthJson(const TrackingHealth& health);

nlohmann::ordered_json WindowsJson(const std::vector<WindowTransform>& transforms);

nlohmann::ordered_json MemoryJson(const MemoryPlan& plan);

// The machine-readable summary of --json.
nlohmann::ordered_json SummaryJson(const RunOptions& options, const RunPlan& plan,
                                   const Outcome& outcome, const RunReport& report,
                                   const nlohmann::ordered_json& times);

// The same for people, several lines.
std::string SummaryText(const RunOptions& options, const RunPlan& plan, const RunReport& report,
                        const nlohmann::ordered_json& times);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_SUMMARY_H_
