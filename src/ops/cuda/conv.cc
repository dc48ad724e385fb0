#include "ops/cuda/conv.h"

#include <cudnn_graph.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "ops/cuda/conv_plan.h"
#include "ops/cuda/elementwise.h"

namespace lingbot::ops::cuda {
namespace {

constexpr size_t kCandidates = 5;  // plans to measure, or to list with and without fusion

using Key = std::array<int64_t, 9>;

Key KeyOf(const ConvShape& shape) {
  return {shape.rows,
          shape.columns,
          shape.in,
          shape.out,
          shape.size,
          shape.stride,
          shape.bias,
          static_cast<int64_t>(shape.dtype),
          static_cast<int64_t>(shape.epilogue)};
}

// What the library left undone without fusion.
void FinishUnfused(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream) {
  const int64_t pixels = shape.OutputSize(shape.rows) * shape.OutputSize(shape.columns);
  const bool relu = shape.epilogue == Epilogue::kRelu;
  if (!relu && !shape.bias) return;
  const auto pass = relu ? AddBiasRelu : AddBias;
  pass(operands.y, shape.dtype, pixels, shape.out, shape.out, shape.bias ? operands.bias : nullptr,
       stream);
}

std::string NameOf(const ConvPlan& plan) {
  return fmt::format("cuDNN engine {}{}, {}", plan.engine,
                     plan.runtime_compiled ? " (compiled at run time)" : "",
                     plan.fused ? "fused" : "alone");
}

}  // namespace

std::vector<float> ChannelsLastKernel(std::span<const float> kernel, int64_t out, int64_t in,
                                      int size) {
  const int64_t area = int64_t{size} * size;
  Check(static_cast<int64_t>(kernel.size()) == out * in * area, ErrorCode::kInternal,
        "ChannelsLastKernel: {} values for [{}, {}, {}, {}]", kernel.size(), out, in, size, size);
  std::vector<float> result(kernel.size());
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t p = 0; p < area; ++p) {
        result[(o * area + p) * in + i] = kernel[(o * in + i) * area + p];
      }
    }
  }
  return result;
}

struct ConvPlans::State {
  cudnnHandle_t handle = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  AlgorithmChoice choice = AlgorithmChoice::kHeuristic;
  std::map<Key, std::vector<ConvPlan>> plans;  // best first; none left: PlainConv
  std::set<Key> measured;
  std::map<Key, std::vector<ConvPlan>> candidates;  // filled on request only

  std::vector<ConvPlan>& Find(const ConvShape& shape) {
    const Key key = KeyOf(shape);
    const auto found = plans.find(key);
    if (found != plans.end()) return found->second;
    const size_t limit = choice == AlgorithmChoice::kMeasured ? kCandidates : 1;
    std::vector<ConvPlan> made;
    // See conv.h; asking for fused f16 kernels in vain costs 30 ms a shape.
    if (shape.dtype == DType::kF32) {
      made = MakeConvPlans(handle, shape, true, workspace_bytes, false, limit);
    }
    if (made.empty()) made = MakeConvPlans(handle, shape, false, workspace_bytes, false, limit);
    return plans.emplace(key, std::move(made)).first->second;
  }

  bool Run(const ConvShape& shape, const ConvPlan& plan, const ConvOperands& operands,
           cudaStream_t stream) {
    CheckCudnn(cudnnSetStream(handle, stream), "cudnnSetStream");
    if (!RunConvPlan(handle, plan, operands, workspace)) return false;
    if (!plan.fused) FinishUnfused(shape, operands, stream);
    return true;
  }

  // Moves the fastest plan to the front.
  void Measure(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream) {
    if (measured.count(KeyOf(shape)) != 0 || IsCapturing(stream)) return;
    measured.insert(KeyOf(shape));
    std::vector<ConvPlan>& shape_plans = Find(shape);
    if (shape_plans.empty()) return;
    // A result of its own: convolutions that add to y must not run twice.
    const ScratchMemory y(static_cast<size_t>(shape.OutputSize(shape.rows) *
                                              shape.OutputSize(shape.columns) * shape.out) *
                          SizeOf(shape.dtype));
    ConvOperands to_scratch = operands;
    to_scratch.y = y.data();
    const auto run = [&](size_t i) { Run(shape, shape_plans[i], to_scratch, stream); };
    // One that the library refuses would win.
    const auto refused = [&](const ConvPlan& plan) {
      return !Run(shape, plan, to_scratch, stream);
    };
    shape_plans.erase(std::remove_if(shape_plans.begin(), shape_plans.end(), refused),
                      shape_plans.end());
    const size_t fastest = FastestOf(shape_plans.size(), run, workspace, workspace_bytes, stream);
    if (fastest > 0) std::swap(shape_plans.front(), shape_plans[fastest]);
  }
};

ConvPlans::ConvPlans(void* workspace, size_t workspace_bytes, AlgorithmChoice choice)
    : state_(std::make_unique<State>()) {
  state_->choice = choice;
  state_->workspace = workspace;
  state_->workspace_bytes = workspace_bytes;
  CheckCudnn(cudnnCreate(&state_->handle), "cudnnCreate");
}

ConvPlans::~ConvPlans() {
  state_->plans.clear();
  state_->candidates.clear();
  if (state_->handle != nullptr) cudnnDestroy(state_->handle);
}

void ConvPlans::Prepare(const ConvShape& shape) { state_->Find(shape); }

void ConvPlans::Run(const ConvShape& shape, const ConvOperands& operands, cudaStream_t stream) {
  Check(shape.epilogue != Epilogue::kGelu, ErrorCode::kInternal,
        "convolutions have no GELU epilogue");
  if (state_->choice == AlgorithmChoice::kMeasured) state_->Measure(shape, operands, stream);
  std::vector<ConvPlan>& plans = state_->Find(shape);
  while (!plans.empty()) {
    if (state_->Run(shape, plans.front(), operands, stream)) return;
    plans.erase(plans.begin());
  }
  PlainConv(shape, operands, stream);
}

std::string ConvPlans::Describe(const ConvShape& shape) {
  const std::vector<ConvPlan>& plans = state_->Find(shape);
  return plans.empty() ? "plain kernel" : NameOf(plans.front());
}

std::vector<ConvCandidate> ConvPlans::Candidates(const ConvShape& shape, bool runtime_compiled) {
  std::vector<ConvPlan>& plans = state_->candidates[KeyOf(shape)];
  plans.clear();
  std::vector<ConvCandidate> candidates;
  for (const bool fused : {true, false}) {
    for (ConvPlan& plan : MakeConvPlans(state_->handle, shape, fused, state_->workspace_bytes,
                                        runtime_compiled, kCandidates)) {
      candidates.push_back({plan.fused, plan.runtime_compiled, plan.workspace_bytes, NameOf(plan)});
      plans.push_back(std::move(plan));
    }
  }
  return candidates;
}

bool ConvPlans::RunCandidate(const ConvShape& shape, size_t candidate, const ConvOperands& operands,
                             cudaStream_t stream) {
  return state_->Run(shape, state_->candidates.at(KeyOf(shape)).at(candidate), operands, stream);
}

}  // namespace lingbot::ops::cuda
