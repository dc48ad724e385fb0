#ifndef LINGBOT_CLI_PIPELINE_H_
#define LINGBOT_CLI_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "cli/console.h"
#include "cli/frame_queue.h"
#include "cli/frame_stream.h"
#include "cli/health.h"
#include "cli/progress.h"
#include "cli/resume.h"
#include "cli/run_plan.h"
#include "cli/snapshot_keeper.h"
#include "cli/stop_signal.h"
#include "media/decode_ahead.h"
#include "output/run_writer.h"

namespace lingbot::cli {

// Seconds by stage, over all frames. `decode` is the time spent waiting for frames, which are
// decoded on another thread. `network` is the session's time without the writing inside.
struct RunTimes {
  double decode = 0;
  double preprocess = 0;
  double network = 0;
  double write = 0;
  StageTimes stages;  // milliseconds; parts of `network`, streaming mode only
};

// How the frames went. `message` and `code` belong to the first error; a later one on the way out
// is not reported.
struct Outcome {
  enum class Status { kComplete, kFailed, kInterrupted };
  Status status = Status::kComplete;
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// "complete", "failed" or "interrupted", as the manifest and the summary say it.
const char* NameOf(Outcome::Status status);

// Takes the frames of a run from the source through the session into the writer, one at a time.
class Pipeline {
 public:
  // All arguments must outlive the object. `start`: how far stream and writer have come already.
  Pipeline(const RunPlan& plan, bool skip_bad, const ThreadTeam& team, FrameStream* stream,
           RunWriter* writer, const StopSignal& stop, const RunPosition& start,
           SnapshotKeeper* snapshots, Console* console);

  // Until the source ends, something fails or a signal arrives. Does not throw: when it returns,
  // whatever was computed has been written, as far as it could be.
  Outcome Run();

  int64_t frames() const { return position_.written; }
  int64_t new_frames() const { return position_.written - start_.written; }
  const RunTimes& times() const { return times_; }
  const TrackingHealth& health() const { return health_; }
  // One line: what of the input could not be used; "" = nothing.
  const std::string& input_problems() const { return input_problems_; }

 private:
  void SkipToStart();
  void ProcessAll();
  bool NextFrame(Image* image);
  void Feed(const Image& image, const PreprocessedFrame& frame);
  void CallStream(const std::function<void(const ResultCallback&)>& call);
  void Write(const FrameResult& result);
  void CheckHealth(const FrameResult& result);
  std::span<const float> DepthOfImage(const FrameResult& result, const ImageMapping& mapping);
  void FlushHeldFrames();
  int64_t total() const;  // frames, as far as is known; 0 = unknown
  Outcome Interrupted() const;

  const RunPlan& plan_;
  bool skip_bad_;
  FrameStream* stream_;
  RunWriter* writer_;
  const StopSignal& stop_;
  SnapshotKeeper* snapshots_;
  Console* console_;
  Preprocessor preprocessor_;
  std::optional<DecodeAhead> frames_;  // while it runs
  FrameQueue queue_;
  Progress progress_;
  TrackingHealth health_;
  RunTimes times_;
  std::vector<float> depth_;  // [height, width], where a frame is padded
  std::string input_problems_;
  int64_t listed_;  // by the source at the start
  RunPosition start_;
  RunPosition position_;
  int64_t held_;                // frames that the stream has been given in an earlier process
  bool between_frames_ = true;  // the stream has not failed in the middle of a step
  bool finished_ = false;       // no frame is left
  bool writer_failed_ = false;
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_PIPELINE_H_
