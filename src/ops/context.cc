#include "ops/context.h"

#include "ops/cpu/state.h"

namespace lingbot::ops {

void CpuState::GrowScratch(size_t bytes) {
  if (bytes > scratch_.bytes()) {
    scratch_ = Buffer(DType::kU8, {static_cast<int64_t>(bytes)});
  }
}

Context::Context(int threads, size_t workspace_bytes)
    : team_(threads), arena_(workspace_bytes), cpu_(std::make_unique<CpuState>()) {}

Context::~Context() = default;

}  // namespace lingbot::ops
