#include "ops/cuda/linear.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/cuda/check.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/small_rows.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kCandidates = 8;

void CheckCublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  Fail(memory ? ErrorCode::kOutOfMemory : ErrorCode::kInternal, "cuBLASLt: {} failed with {} ({})",
       call, cublasLtGetStatusName(status), cublasLtGetStatusString(status));
}

cudaDataType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kBF16:
      return CUDA_R_16BF;
    case DType::kF16:
      return CUDA_R_16F;
    default:
      Fail(ErrorCode::kInternal, "Linear on CUDA: no product of {}", NameOf(dtype));
  }
}

// Largest power of two up to 256 that divides the address and the row pitch in bytes.
uint32_t AlignmentOf(const void* pointer, int64_t stride, DType dtype) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(pointer) |
                        static_cast<uint64_t>(stride) * SizeOf(dtype) | uint64_t{256};
  return uint32_t{1} << std::countr_zero(bits);
}

template <auto Create, auto Destroy, typename Handle>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  ~Owned() {
    if (handle != nullptr) Destroy(handle);
  }
  Owned(Owned&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
};
using Desc = Owned<cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t>;
using Layout =
    Owned<cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t>;
using Preference = Owned<cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy,
                         cublasLtMatmulPreference_t>;

template <typename T>
void Set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, T value) {
  CheckCublas(cublasLtMatmulDescSetAttribute(desc.handle, attribute, &value, sizeof(value)),
              "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void Set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  CheckCublas(
      cublasLtMatmulPreferenceSetAttribute(preference.handle, attribute, &value, sizeof(value)),
      "cublasLtMatmulPreferenceSetAttribute");
}

Layout MakeLayout(DType dtype, int64_t rows, int64_t columns, int64_t pitch) {
  Layout layout;
  CheckCublas(cublasLtMatrixLayoutCreate(&layout.handle, TypeOf(dtype), static_cast<uint64_t>(rows),
                                         static_cast<uint64_t>(columns), pitch),
              "cublasLtMatrixLayoutCreate");
  return layout;
}

enum class BiasMode {
  kNone,     // there is none, or it joins in a later pass
  kWide,     // float32 in the library's epilogue
  kNarrow,   // y's type in the library's epilogue
  kOwnPass,  // a kernel of ours afterwards
};

using Key = std::array<int64_t, 14>;

Key KeyOf(const LinearCall& call) {
  return {call.rows,
          call.in,
          call.out,
          static_cast<int64_t>(call.x_dtype),
          static_cast<int64_t>(call.y_dtype),
          call.x_stride,
          call.y_stride,
          static_cast<int64_t>(call.epilogue),
          call.bias != nullptr,
          call.narrow_bias != nullptr,
          AlignmentOf(call.x, call.x_stride, call.x_dtype),
          AlignmentOf(call.weight, call.in, call.x_dtype),
          AlignmentOf(call.y, call.y_stride, call.y_dtype),
          AlignmentOf(call.bias, 0, DType::kF32)};
}

bool SuitsSmallRows(const LinearCall& call) {
  return call.rows <= kMaxSmallRows && call.x_dtype == DType::kF32 && call.y_dtype == DType::kF32 &&
         call.alpha == 1.0f;
}

}  // namespace

struct LinearPlans::Plan {
  Desc desc;
  Layout weight, x, y;
  BiasMode bias = BiasMode::kNone;
  std::vector<cublasLtMatmulAlgo_t> algorithms;  // none: PlainLinear serves this shape
  bool measured = false;
};

struct LinearPlans::State {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  AlgorithmChoice choice = AlgorithmChoice::kHeuristic;
  std::map<Key, Plan> plans;
};

namespace {

Desc MakeDesc(const LinearCall& call, BiasMode bias) {
  Desc desc;
  CheckCublas(cublasLtMatmulDescCreate(&desc.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              "cublasLtMatmulDescCreate");
  Set(desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  Set(desc, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  const bool in_library = bias == BiasMode::kWide || bias == BiasMode::kNarrow;
  const bool relu = call.epilogue == Epilogue::kRelu && bias != BiasMode::kOwnPass;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (in_library) epilogue = relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  if (!in_library && relu) epilogue = CUBLASLT_EPILOGUE_RELU;
  Set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (in_library) {
    const bool wide = bias == BiasMode::kWide;
    Set(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        static_cast<int32_t>(wide ? CUDA_R_32F : TypeOf(call.y_dtype)));
    const void* pointer = wide ? call.bias : call.narrow_bias;
    Set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
  }
  return desc;
}

Preference MakePreference(const LinearCall& call, size_t workspace_bytes) {
  Preference preference;
  CheckCublas(cublasLtMatmulPreferenceCreate(&preference.handle), "cublasLtMatmulPreferenceCreate");
  Set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes));
  const uint32_t y = AlignmentOf(call.y, call.y_stride, call.y_dtype);
  Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      AlignmentOf(call.weight, call.in, call.x_dtype));
  Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      AlignmentOf(call.x, call.x_stride, call.x_dtype));
  Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, y);
  Set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, y);
  return preference;
}

// The ways to add the bias, best first.
std::vector<BiasMode> BiasModes(const LinearCall& call) {
  if (call.bias == nullptr || call.epilogue == Epilogue::kGelu) return {BiasMode::kNone};
  std::vector<BiasMode> modes = {BiasMode::kWide};
  if (call.narrow_bias != nullptr && call.y_dtype != DType::kF32)
    modes.push_back(BiasMode::kNarrow);
  modes.push_back(BiasMode::kOwnPass);
  return modes;
}

}  // namespace

LinearPlans::LinearPlans(void* workspace, size_t workspace_bytes, AlgorithmChoice choice)
    : state_(std::make_unique<State>()) {
  state_->choice = choice;
  state_->workspace = workspace;
  state_->workspace_bytes = workspace_bytes;
  CheckCublas(cublasLtCreate(&state_->handle), "cublasLtCreate");
}

LinearPlans::~LinearPlans() {
  state_->plans.clear();
  if (state_->handle != nullptr) cublasLtDestroy(state_->handle);
}

LinearPlans::Plan& LinearPlans::Find(const LinearCall& call) {
  const Key key = KeyOf(call);
  const auto found = state_->plans.find(key);
  if (found != state_->plans.end()) return found->second;

  Plan plan;
  plan.weight = MakeLayout(call.x_dtype, call.in, call.out, call.in);
  plan.x = MakeLayout(call.x_dtype, call.in, call.rows, call.x_stride);
  plan.y = MakeLayout(call.y_dtype, call.out, call.rows, call.y_stride);
  const Preference preference = MakePreference(call, state_->workspace_bytes);
  for (const BiasMode bias : BiasModes(call)) {
    plan.bias = bias;
    plan.desc = MakeDesc(call, bias);
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        state_->handle, plan.desc.handle, plan.weight.handle, plan.x.handle, plan.y.handle,
        plan.y.handle, preference.handle, kCandidates, results.data(), &count);
    if (status != CUBLAS_STATUS_SUCCESS) continue;  // refused: the next mode, or the plain kernel
    for (int i = 0; i < count; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS) plan.algorithms.push_back(results[i].algo);
    }
    if (!plan.algorithms.empty()) break;
  }
  return state_->plans.emplace(key, std::move(plan)).first->second;
}

void LinearPlans::Run(const LinearCall& call, cudaStream_t stream) {
  if (call.rows == 0 || call.out == 0) return;
  if (SuitsSmallRows(call)) {
    SmallRowsLinear({call.rows, call.in, call.out, static_cast<const float*>(call.x), call.x_stride,
                     static_cast<const float*>(call.weight), call.bias, static_cast<float*>(call.y),
                     call.y_stride, call.epilogue},
                    stream);
    return;
  }
  Plan& plan = Find(call);
  if (state_->choice == AlgorithmChoice::kMeasured && !plan.measured) Measure(call, plan, stream);
  RunCandidate(call, 0, stream);
}

// `y` stands in for call.y.
void LinearPlans::Multiply(const LinearCall& call, const Plan& plan, int candidate, void* y,
                           cudaStream_t stream) {
  if (plan.bias == BiasMode::kWide || plan.bias == BiasMode::kNarrow) {
    const void* bias = plan.bias == BiasMode::kWide ? call.bias : call.narrow_bias;
    Set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  const float beta = call.epilogue == Epilogue::kAccumulate ? 1.0f : 0.0f;
  CheckCublas(cublasLtMatmul(state_->handle, plan.desc.handle, &call.alpha, call.weight,
                             plan.weight.handle, call.x, plan.x.handle, &beta, y, plan.y.handle, y,
                             plan.y.handle, &plan.algorithms[static_cast<size_t>(candidate)],
                             state_->workspace, state_->workspace_bytes, stream),
              "cublasLtMatmul");
}

// Moves the fastest algorithm to the front.
void LinearPlans::Measure(const LinearCall& call, Plan& plan, cudaStream_t stream) {
  if (IsCapturing(stream)) return;
  plan.measured = true;
  if (plan.algorithms.empty()) return;
  // A result of its own: products that add to y must not run twice.
  const ScratchMemory y(static_cast<size_t>(call.rows * call.y_stride) * SizeOf(call.y_dtype));
  const auto run = [&](size_t i) { Multiply(call, plan, static_cast<int>(i), y.data(), stream); };
  const size_t fastest =
      FastestOf(plan.algorithms.size(), run, state_->workspace, state_->workspace_bytes, stream);
  std::swap(plan.algorithms.front(), plan.algorithms[fastest]);
}

void LinearPlans::RunCandidate(const LinearCall& call, int candidate, cudaStream_t stream) {
  const Plan& plan = Find(call);
  if (plan.algorithms.empty()) return PlainLinear(call, stream);
  Multiply(call, plan, candidate, call.y, stream);
  if (call.epilogue == Epilogue::kGelu) {
    AddBiasGelu(call.y, call.y_dtype, call.rows, call.out, call.y_stride, call.bias, stream);
  } else if (plan.bias == BiasMode::kOwnPass) {
    const auto pass = call.epilogue == Epilogue::kRelu ? AddBiasRelu : AddBias;
    pass(call.y, call.y_dtype, call.rows, call.out, call.y_stride, call.bias, stream);
  }
}

int LinearPlans::Candidates(const LinearCall& call) {
  return static_cast<int>(Find(call).algorithms.size());
}

const char* LinearPlans::Describe(const LinearCall& call) {
  if (SuitsSmallRows(call)) return "small-rows kernel";
  const Plan& plan = Find(call);
  if (plan.algorithms.empty()) return "plain kernel";
  if (call.epilogue == Epilogue::kGelu) return "cuBLASLt, bias and GELU pass";
  switch (plan.bias) {
    case BiasMode::kNone:
      return "cuBLASLt";
    case BiasMode::kWide:
      return "cuBLASLt, float32 bias";
    case BiasMode::kNarrow:
      return "cuBLASLt, 16-bit bias";
    case BiasMode::kOwnPass:
      return "cuBLASLt, bias pass";
  }
  return "";
}

}  // namespace lingbot::ops::cuda
