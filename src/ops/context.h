#ifndef LINGBOT_OPS_CONTEXT_H_
#define LINGBOT_OPS_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "base/thread_team.h"
#include "ops/setup.h"
#include "tensor/arena.h"
#include "tensor/mirrored_memory.h"

namespace lingbot::ops {

// State of the libraries behind the operators for one session; defined in ops/cpu and ops/cuda.
class CpuState;
class CudaState;
struct DeleteCudaState {
  void operator()(CudaState* state) const;
};

// What operators run on: a device, threads, temporary memory, the step's small inputs and
// per-session library state. Used by one thread at a time; sessions do not share it.
class Context {
 public:
  Context(int threads, size_t workspace_bytes);  // on the CPU
  // Throws kUnavailable if the setup's GPU cannot be used.
  Context(const Setup& setup, size_t workspace_bytes, size_t step_input_bytes);
  ~Context();

  const Setup& setup() const { return setup_; }
  const ThreadTeam& team() const { return team_; }
  Arena& arena() { return arena_; }
  MirroredMemory& step_inputs() { return step_inputs_; }
  CpuState& cpu() { return *cpu_; }
  CudaState& cuda() { return *cuda_; }  // on a GPU only

 private:
  Setup setup_;
  ThreadTeam team_;
  std::unique_ptr<CudaState, DeleteCudaState>
      cuda_;  // first: it makes the GPU the thread's current one
  Arena arena_;
  MirroredMemory step_inputs_;
  std::unique_ptr<CpuState> cpu_;
};

// Memory that a context's libraries take besides its workspace.
size_t LibraryWorkspaceBytes(const Setup& setup);

// Makes the context's GPU the calling thread's current one; nothing on the CPU.
void Activate(Context& context);

// Runs `body`, which launches the operators of one step. On a GPU the launches of a step are
// recorded at the second call with the same `key`, and later calls replay them without running
// `body`: everything that differs between steps of one key must be in step_inputs() or in the
// tensors that the launches read. `replay` false always runs `body`. Returns whether it ran.
bool RunStep(Context& context, uint64_t key, bool replay, const std::function<void()>& body);

// Brings what the host wrote into step_inputs() to the device.
void UploadStepInputs(Context& context);
// Waits for everything launched so far. Throws if any of it failed.
void Synchronize(Context& context);

// Copies between host and device, in order with the operators: complete on the CPU when they
// return, on a GPU after Synchronize, if the host's memory is pinned. Contiguous, same type.
void Upload(Context& context, const TensorView& host, const TensorView& device);
void Download(Context& context, const TensorView& device, const TensorView& host);

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CONTEXT_H_
