#ifndef LINGBOT_OPS_CUDA_LINEAR_H_
#define LINGBOT_OPS_CUDA_LINEAR_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "ops/cuda/algorithm_choice.h"
#include "ops/cuda/plain_linear.h"

namespace lingbot::ops::cuda {

// Products y = epilogue(alpha x W^T + b) of one session: float32 ones in float32 (never tf32),
// 16-bit ones on the matrix units with float32 accumulation. Up to 16 float32 rows go to
// SmallRowsLinear; the others to cuBLASLt, whose algorithm is chosen once per shape by the
// library's own heuristic, so that two runs give the same bits; PlainLinear serves what the library
// refuses.
//
// The library reads memory column by column: our row-major y [rows, out] is its [out, rows], so it
// is asked for y^T = W x^T with W^T, x^T given as they lie.
//
// Bias: applied in float32 where the library can, else `narrow_bias` in y's type, else, without
// one, by a pass of its own. The exact GELU always takes a pass over y, because the library's own
// is the tanh approximation; the bias then joins in that pass.
//
// May be captured into a graph: but for the measurement, Run neither allocates nor synchronises.
class LinearPlans {
 public:
  // Scratch memory that serves every shape; on Hopper the library asks for 32 MiB.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // `workspace` (device memory, 256-byte aligned, at least kWorkspaceBytes) must outlive the plans
  // and serves one stream at a time.
  LinearPlans(void* workspace, size_t workspace_bytes,
              AlgorithmChoice choice = AlgorithmChoice::kHeuristic);
  ~LinearPlans();
  LinearPlans(const LinearPlans&) = delete;
  LinearPlans& operator=(const LinearPlans&) = delete;

  void Run(const LinearCall& call, cudaStream_t stream);

  // For developers' measurements: how many algorithms the library offers for this call, and the
  // call by one of them (0 is the one that Run takes).
  int Candidates(const LinearCall& call);
  void RunCandidate(const LinearCall& call, int candidate, cudaStream_t stream);

  // How Run serves the call, in words: "cuBLASLt, float32 bias", "plain kernel", ...
  const char* Describe(const LinearCall& call);

 private:
  struct Plan;
  struct State;
  Plan& Find(const LinearCall& call);
  void Multiply(const LinearCall& call, const Plan& plan, int candidate, void* y,
                cudaStream_t stream);
  void Measure(const LinearCall& call, Plan& plan, cudaStream_t stream);

  std::unique_ptr<State> state_;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_LINEAR_H_
