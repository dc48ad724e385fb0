#ifndef LINGBOT_CLI_RUN_PLAN_H_
#define LINGBOT_CLI_RUN_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/thread_team.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "cli/stream_policy.h"
#include "lingbot/model.h"
#include "lingbot/session.h"
#include "media/open_source.h"
#include "preprocess/preprocess.h"

namespace lingbot::cli {

// A run that has been checked as far as is possible before memory is taken or a file is written.
struct RunPlan {
  std::unique_ptr<FrameSource> source;
  int64_t frames = 0;        // that will be processed, as far as is known; 0 = unknown
  bool frames_exact = true;  // false: counted without decoding, a few more or fewer may come
  std::string first_name;
  PreprocessOptions preprocess;
  ResizeSize size;            // of every frame
  int64_t source_pixels = 0;  // of the largest original image
  CheckpointSummary checkpoint;
  std::string weights_hash;
  std::string input_fingerprint;  // of names and sizes, to notice that it has changed
  SessionOptions session;         // complete
  std::optional<WindowedOptions> windows;
  StreamPolicy policy;  // what session and windows follow from
  MemoryPlan memory;
  uint64_t own_memory = 0;  // program, images and point cloud, outside of the session
};

// Throws kShapeMismatch if an image of this size does not come to the size of the run's frames,
// kInvalidArgument if it is too small for any.
void CheckFrameSize(const RunPlan& plan, const ImageSize& image, const std::string& name);

// Looks at the output folder, the checkpoint's header and the input, and checks options and
// memory against them, cheap checks first. Throws UsageError for what is wrong with options or
// input, else Error.
RunPlan PlanRun(const RunOptions& options, const ThreadTeam& team, Console* console);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_RUN_PLAN_H_
