#include "ops/cuda/conv.h"

#include <cudnn_graph.h>

#include <array>
#include <map>

#include "base/check.h"
#include "ops/cuda/conv_plan.h"
#include "ops/cuda/elementwise.h"

namespace lingbot::ops::cuda {
namespace {

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

constexpr std::array<ConvFusion, 3> kFusions = {ConvFusion::kFull, ConvFusion::kMinimal,
                                                ConvFusion::kNone};

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
  const char* fusion = plan.fusion == ConvFusion::kNone      ? "alone"
                       : plan.fusion == ConvFusion::kMinimal ? "fused"
                                                             : "fused in full";
  return fmt::format("cuDNN engine {}{}, {}", plan.engine,
                     plan.runtime_compiled ? " (compiled at run time)" : "", fusion);
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
  std::map<Key, std::vector<ConvPlan>> plans;       // at most one a shape; none: PlainConv
  std::map<Key, std::vector<ConvPlan>> candidates;  // filled on request only

  const std::vector<ConvPlan>& Find(const ConvShape& shape) {
    const Key key = KeyOf(shape);
    const auto found = plans.find(key);
    if (found != plans.end()) return found->second;
    std::vector<ConvPlan> made;
    for (const ConvFusion fusion : kFusions) {
      if (fusion == ConvFusion::kFull && (!shape.bias || shape.epilogue == Epilogue::kStore)) {
        continue;
      }
      made = MakeConvPlans(handle, shape, fusion, workspace_bytes, false, 1);
      if (!made.empty()) break;
    }
    return plans.emplace(key, std::move(made)).first->second;
  }

  void Run(const ConvShape& shape, const ConvPlan& plan, const ConvOperands& operands,
           cudaStream_t stream) {
    CheckCudnn(cudnnSetStream(handle, stream), "cudnnSetStream");
    RunConvPlan(handle, plan, operands, workspace);
    if (plan.fusion == ConvFusion::kNone) FinishUnfused(shape, operands, stream);
  }
};

ConvPlans::ConvPlans(void* workspace, size_t workspace_bytes) : state_(std::make_unique<State>()) {
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
  const std::vector<ConvPlan>& plans = state_->Find(shape);
  if (plans.empty()) return PlainConv(shape, operands, stream);
  state_->Run(shape, plans.front(), operands, stream);
}

std::string ConvPlans::Describe(const ConvShape& shape) {
  const std::vector<ConvPlan>& plans = state_->Find(shape);
  return plans.empty() ? "plain kernel" : NameOf(plans.front());
}

std::vector<ConvCandidate> ConvPlans::Candidates(const ConvShape& shape, bool runtime_compiled) {
  std::vector<ConvPlan>& plans = state_->candidates[KeyOf(shape)];
  plans.clear();
  std::vector<ConvCandidate> candidates;
  constexpr size_t kMost = 6;  // a fusion
  for (const ConvFusion fusion : kFusions) {
    for (ConvPlan& plan : MakeConvPlans(state_->handle, shape, fusion, state_->workspace_bytes,
                                        runtime_compiled, kMost)) {
      candidates.push_back({plan.fusion != ConvFusion::kNone, plan.runtime_compiled,
                            plan.workspace_bytes, NameOf(plan)});
      plans.push_back(std::move(plan));
    }
  }
  return candidates;
}

void ConvPlans::RunCandidate(const ConvShape& shape, size_t candidate, const ConvOperands& operands,
                             cudaStream_t stream) {
  state_->Run(shape, state_->candidates.at(KeyOf(shape)).at(candidate), operands, stream);
}

}  // namespace lingbot::ops::cuda
