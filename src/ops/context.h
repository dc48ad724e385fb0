#ifndef LINGBOT_OPS_CONTEXT_H_
#define LINGBOT_OPS_CONTEXT_H_

#include <memory>

#include "base/thread_team.h"
#include "tensor/arena.h"

namespace lingbot::ops {

// State of the matrix library for one session (primitives built so far); defined in ops/cpu.
class CpuState;

// What operators run on: threads, temporary memory and per-session library state. Used by one
// thread at a time; sessions do not share it.
class Context {
 public:
  Context(int threads, size_t workspace_bytes);
  ~Context();

  const ThreadTeam& team() const { return team_; }
  Arena& arena() { return arena_; }
  CpuState& cpu() { return *cpu_; }

 private:
  ThreadTeam team_;
  Arena arena_;
  std::unique_ptr<CpuState> cpu_;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CONTEXT_H_
