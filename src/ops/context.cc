#include "ops/context.h"

#include "ops/cpu/state.h"

namespace lingbot::ops {

Context::Context(int threads, size_t workspace_bytes)
    : team_(threads), arena_(workspace_bytes), cpu_(std::make_unique<CpuState>()) {}

Context::~Context() = default;

}  // namespace lingbot::ops
