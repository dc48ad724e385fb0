#ifndef LINGBOT_BENCH_STREAM_BENCH_H_
#define LINGBOT_BENCH_STREAM_BENCH_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "lingbot/session.h"

namespace lingbot {

struct StreamOptions {
  int height = 294;
  int width = 518;
  int64_t frames = 200;
  DeviceKind device = DeviceKind::kCpu;
  int device_ordinal = 0;
  Precision precision = Precision::kAuto;
  SessionOptions session;  // expected_frames is set from `frames`
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

// Times of the frames before a mark and the state of the session there.
struct StreamMark {
  int64_t frame = 0;   // number of frames done
  int64_t window = 0;  // frames that the times are of
  StageTimes median;   // milliseconds a frame
  StageTimes p99;
  double processor = 0.0;  // median milliseconds a frame that all threads computed, in sum
  uint64_t resident = 0;   // bytes of the process
  uint64_t gpu = 0;        // bytes of the GPU's memory taken since the process began
  CacheOccupancy cache;
};

struct StreamReport {
  Machine machine;
  int threads = 0;
  ModelInfo model;
  int height = 0;
  int width = 0;
  AttentionBackend attention = AttentionBackend::kAuto;
  double load_seconds = 0.0;     // making, packing the weights
  double session_seconds = 0.0;  // making the session; a GPU's runs its first steps then
  MemoryPlan plan;
  uint64_t resident = 0;  // bytes at the end
  uint64_t peak_resident = 0;
  int scale_frames = 0;
  int sliding_window = 0;
  StageTimes scale_step;            // the scale frames together
  double first_pose_seconds = 0.0;  // since StreamOptions::started
  double frame_tokens = 0.0;
  double visible_tokens = 0.0;  // that a frame attends to at the end
  std::vector<StreamMark> marks;
  CacheOccupancy cache;    // at the end
  int64_t thinned_at = 0;  // frame after which the trajectory budget was first used up; 0 = never
  uint64_t hash = 0;       // of poses, depths and confidences, in order
  double linear_operations = 0.0;  // per frame: LinearOperations
  double linear_rate = 0.0;        // of them, over all time outside cache attention and heads
  double raw_rate = 0.0;           // of the matrix library alone at a block's shapes
};

// Runs a session over random frames with the weights of `config` (tools/hashed_model.h) and
// measures it. Throws as MakeHashedModel, the model and the session do.
StreamReport BenchStream(const nlohmann::json& config, const StreamOptions& options);

std::string StreamText(const StreamReport& report);
nlohmann::json StreamJson(const StreamReport& report);

}  // namespace lingbot

#endif  // LINGBOT_BENCH_STREAM_BENCH_H_
