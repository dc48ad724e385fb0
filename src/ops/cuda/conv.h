#ifndef LINGBOT_OPS_CUDA_CONV_H_
#define LINGBOT_OPS_CUDA_CONV_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/cuda/algorithm_choice.h"
#include "ops/cuda/plain_conv.h"

namespace lingbot::ops::cuda {

// Kernel order that the launchers want: [out, in, size, size] to [out, size, size, in].
std::vector<float> ChannelsLastKernel(std::span<const float> kernel, int64_t out, int64_t in,
                                      int size);

// One way to compute a convolution, for developers' measurements.
struct ConvCandidate {
  bool fused = false;             // bias and epilogue inside the library's kernel
  bool runtime_compiled = false;  // costs seconds of compilation when the plan is made
  size_t workspace_bytes = 0;
  std::string engine;  // the library's name for it
};

// Convolutions of one session through cuDNN, one plan a shape: f16 operands on the matrix units
// with float32 sums, or plain float32 (no tf32, no Winograd, no Fourier transform). Plans come from
// the deterministic engines that need no compilation at run time and fit the workspace. PlainConv
// serves what is left.
//
// For f16 the library (9.14) has no ready-made kernels with bias or epilogue inside; those that it
// compiles at run time are up to 30 % faster at 0.2 s of compilation each. So f16 takes the bare
// convolution, 550 to 700 TFLOP/s on an H200 at the large sizes, and a pass of ours.
class ConvPlans {
 public:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // `workspace` (device memory, 256-byte aligned) must outlive the plans and serves one stream at a
  // time; engines that want more are passed over.
  ConvPlans(void* workspace, size_t workspace_bytes,
            AlgorithmChoice choice = AlgorithmChoice::kHeuristic);
  ~ConvPlans();
  ConvPlans(const ConvPlans&) = delete;
  ConvPlans& operator=(const ConvPlans&) = delete;

  // Makes the plan for a shape ahead of its first use (milliseconds of host time).
  void Prepare(const ConvShape& shape);

  // May be captured into a graph once the shape is prepared or was run before.
  void Run(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream);

  // How Run serves the shape, in words.
  std::string Describe(const ConvShape& shape);

  // Every way that could be made, those with run-time compilation only if asked for, and a run by
  // one of them, which says whether the library accepted it.
  std::vector<ConvCandidate> Candidates(const ConvShape& shape, bool runtime_compiled);
  bool RunCandidate(const ConvShape& shape, size_t candidate, const ConvOperands& operands,
                    cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_CONV_H_
