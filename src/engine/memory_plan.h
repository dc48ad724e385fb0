#ifndef LINGBOT_ENGINE_MEMORY_PLAN_H_
#define LINGBOT_ENGINE_MEMORY_PLAN_H_

#include "cache/kv_cache.h"
#include "layers/position.h"
#include "lingbot/session.h"
#include "model/config.h"

namespace lingbot {

// A session's options with every default resolved and everything checked.
struct StreamPlan {
  int height = 0;
  int width = 0;
  PatchGrid grid;
  int scale_frames = 0;
  int sliding_window = 0;
  int camera_iterations = 0;
  ops::Setup setup;
  KvCacheConfig cache;
  size_t workspace_bytes = 0;
  size_t step_input_bytes = 0;
  int64_t stored_frames = 0;  // that the stream comes to at most, if known; else 0
  bool graph = true;
  bool stage_times = false;
};

// The most that a stream asks of the attention over its cache.
ops::PagedLimits PagedLimitsOf(const StreamPlan& plan);

// Throws kInvalidArgument naming the option, its value and the values allowed.
StreamPlan PlanStream(const ModelInfo& model, int height, int width, const SessionOptions& options);

MemoryPlan MemoryOf(const StreamPlan& plan, const ModelInfo& model, const SessionOptions& options);

// Throws kOutOfMemory unless the session fits beside weights that are loaded already.
void CheckSessionMemory(const ModelInfo& model, int height, int width,
                        const SessionOptions& options);

}  // namespace lingbot

#endif  // LINGBOT_ENGINE_MEMORY_PLAN_H_
