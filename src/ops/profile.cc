#include "ops/profile.h"

#include "ops/cuda/backend.h"

namespace lingbot::ops {

void Profile::MarkOnGpu(int stage) { cuda::MarkStage(*gpu_, stage); }

void Profile::MarkStepOnGpu(bool begin) {
  if (gpu_ != nullptr && enabled_) cuda::MarkStep(*gpu_, begin);
}

void Profile::Collect() {
  if (gpu_ != nullptr && enabled_) cuda::CollectStages(*gpu_, milliseconds_);
}

}  // namespace lingbot::ops
