#include "ops/cuda/conv_plan.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"

namespace lingbot::ops::cuda {
namespace {

// Identifiers that tie tensors of the graph to addresses.
enum TensorId : int64_t { kX = 1, kKernel, kBias, kZ, kY, kConvolved, kSummed, kBiased };

// Engines to look at; the library offers a few dozen at most.
constexpr int64_t kMaxEngines = 64;

struct Tensor {
  TensorId id;
  cudnnDataType_t type;
  std::array<int64_t, 4> dims;  // batch, channels, rows, columns
  bool intermediate = false;
};

CudnnDescriptor Describe(const Tensor& tensor) {
  const auto [n, c, h, w] = tensor.dims;
  static_cast<void>(n);
  const std::array<int64_t, 4> strides = {c * h * w, 1, c * w, c};
  constexpr int64_t kAlignment = 16;
  CudnnDescriptor desc(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  desc.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id);
  desc.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor.type);
  desc.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor.dims.data());
  desc.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  desc.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  desc.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &tensor.intermediate);
  Check(desc.Finalize(), ErrorCode::kInternal, "cuDNN refuses a tensor [{}, {}, {}, {}]", n, c, h,
        w);
  return desc;
}

constexpr cudnnDataType_t kFloat = CUDNN_DATA_FLOAT;

CudnnDescriptor Convolution(const ConvShape& shape, const CudnnDescriptor& x,
                            const CudnnDescriptor& kernel, const CudnnDescriptor& y, float beta) {
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const std::array<int64_t, 2> padding = {shape.size / 2, shape.size / 2};
  const std::array<int64_t, 2> strides = {shape.stride, shape.stride};
  const std::array<int64_t, 2> dilations = {1, 1};
  CudnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kFloat);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, padding.data());
  convolution.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, padding.data());
  convolution.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides.data());
  convolution.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations.data());
  Check(convolution.Finalize(), ErrorCode::kInternal, "cuDNN refuses a {}x{} kernel of stride {}",
        shape.size, shape.size, shape.stride);

  const float alpha = 1.0f;
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kernel);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
  Check(operation.Finalize(), ErrorCode::kInternal, "cuDNN refuses the convolution {} -> {}",
        shape.in, shape.out);
  return operation;
}

// y = mode(x, b); b is null for a function of x alone.
CudnnDescriptor Pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                          const CudnnDescriptor* b, const CudnnDescriptor& y) {
  CudnnDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &kFloat);
  Check(pointwise.Finalize(), ErrorCode::kInternal, "cuDNN refuses a pointwise operation");

  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b != nullptr) operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  Check(operation.Finalize(), ErrorCode::kInternal, "cuDNN refuses a pointwise operation");
  return operation;
}

// The operations of one convolution; tensors live as long as the operations do.
struct Graph {
  std::vector<CudnnDescriptor> tensors;
  std::vector<CudnnDescriptor> operations;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const ConvShape& shape)
      : shape_(shape),
        type_(shape.dtype == DType::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT),
        out_dims_({1, shape.out, shape.OutputSize(shape.rows), shape.OutputSize(shape.columns)}) {
    graph_.tensors.reserve(8);
  }

  Graph Build(bool fused) {
    const bool accumulate = shape_.epilogue == Epilogue::kAccumulate;
    const bool relu = shape_.epilogue == Epilogue::kRelu;
    const CudnnDescriptor& x = Add({kX, type_, {1, shape_.in, shape_.rows, shape_.columns}});
    const CudnnDescriptor& kernel =
        Add({kKernel, type_, {shape_.out, shape_.in, shape_.size, shape_.size}});
    const CudnnDescriptor& y = Add({kY, type_, out_dims_});
    if (!fused) {
      graph_.operations.push_back(Convolution(shape_, x, kernel, y, accumulate ? 1.0f : 0.0f));
      return std::move(graph_);
    }
    const CudnnDescriptor& convolved =
        accumulate || shape_.bias || relu ? Add({kConvolved, kFloat, out_dims_, true}) : y;
    graph_.operations.push_back(Convolution(shape_, x, kernel, convolved, 0.0f));
    const CudnnDescriptor* last = &convolved;
    if (accumulate) {
      const CudnnDescriptor& z = Add({kZ, type_, out_dims_});
      const CudnnDescriptor& to = shape_.bias ? Add({kSummed, kFloat, out_dims_, true}) : y;
      graph_.operations.push_back(Pointwise(CUDNN_POINTWISE_ADD, *last, &z, to));
      last = &to;
    }
    if (shape_.bias) {
      const CudnnDescriptor& b = Add({kBias, kFloat, {1, shape_.out, 1, 1}});
      const CudnnDescriptor& to = relu ? Add({kBiased, kFloat, out_dims_, true}) : y;
      graph_.operations.push_back(Pointwise(CUDNN_POINTWISE_ADD, *last, &b, to));
      last = &to;
    }
    if (relu) {
      graph_.operations.push_back(Pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, y));
    }
    return std::move(graph_);
  }

 private:
  // References stay valid: the vector has its full capacity from the start.
  const CudnnDescriptor& Add(const Tensor& tensor) {
    return graph_.tensors.emplace_back(Describe(tensor));
  }

  const ConvShape& shape_;
  cudnnDataType_t type_;
  std::array<int64_t, 4> out_dims_;
  Graph graph_;
};

std::vector<CudnnDescriptor> EngineConfigs(const CudnnDescriptor& graph,
                                           cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (!heuristic.Finalize()) return {};
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < kMaxEngines; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs.back().get());
  }
  int64_t count = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, kMaxEngines, &count, handles.data());
  if (status != CUDNN_STATUS_SUCCESS) return {};
  configs.resize(static_cast<size_t>(std::min(count, kMaxEngines)));
  return configs;
}

struct Engine {
  int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> numbers;
  std::vector<cudnnBackendBehaviorNote_t> behavior;

  bool Notes(cudnnBackendNumericalNote_t note) const {
    return std::find(numbers.begin(), numbers.end(), note) != numbers.end();
  }
  bool Notes(cudnnBackendBehaviorNote_t note) const {
    return std::find(behavior.begin(), behavior.end(), note) != behavior.end();
  }
};

Engine EngineOf(const CudnnDescriptor& config) {
  CudnnDescriptor desc(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = desc.get();
  int64_t count = 0;
  CheckCudnn(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
             "cudnnBackendGetAttribute(engine)");
  Engine engine;
  CheckCudnn(cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                      &count, &engine.index),
             "cudnnBackendGetAttribute(index)");
  engine.numbers.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  CheckCudnn(
      cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, engine.numbers.data()),
      "cudnnBackendGetAttribute(numerical notes)");
  engine.numbers.resize(static_cast<size_t>(count));
  engine.behavior.resize(CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  CheckCudnn(
      cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                               CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, engine.behavior.data()),
      "cudnnBackendGetAttribute(behaviour notes)");
  engine.behavior.resize(static_cast<size_t>(count));
  return engine;
}

bool KeepsArithmetic(const Engine& engine, DType dtype) {
  return !engine.Notes(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
         !engine.Notes(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
         !engine.Notes(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) &&
         !engine.Notes(CUDNN_NUMERICAL_NOTE_FFT) && !engine.Notes(CUDNN_NUMERICAL_NOTE_WINOGRAD) &&
         (dtype != DType::kF32 || !engine.Notes(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

}  // namespace

void CheckCudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  std::array<char, 1024> last{};
  cudnnGetLastErrorString(last.data(), last.size());
  Fail(ErrorCode::kInternal, "cuDNN: {} failed with {} ({})", call, cudnnGetErrorString(status),
       last.data());
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  CheckCudnn(cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void* values) {
  CheckCudnn(cudnnBackendSetAttribute(handle_, name, type, count, values),
             "cudnnBackendSetAttribute");
}

void CudnnDescriptor::Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
}

void CudnnDescriptor::Set(cudnnBackendAttributeName_t name, int64_t value) {
  Set(name, CUDNN_TYPE_INT64, 1, &value);
}

bool CudnnDescriptor::Finalize() { return cudnnBackendFinalize(handle_) == CUDNN_STATUS_SUCCESS; }

std::vector<ConvPlan> MakeConvPlans(cudnnHandle_t handle, const ConvShape& shape, bool fused,
                                    size_t workspace_bytes, bool runtime_compiled, size_t limit) {
  const Graph operations = GraphBuilder(shape).Build(fused);
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const CudnnDescriptor& operation : operations.operations) handles.push_back(operation.get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<int64_t>(handles.size()), handles.data());
  if (!graph.Finalize()) return {};

  std::vector<ConvPlan> plans;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const CudnnDescriptor& config : EngineConfigs(graph, mode)) {
      if (plans.size() == limit) return plans;
      const Engine engine = EngineOf(config);
      const bool compiles = engine.Notes(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
      if (!KeepsArithmetic(engine, shape.dtype) || (compiles && !runtime_compiled)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.Finalize()) continue;
      int64_t workspace = 0, count = 0;
      CheckCudnn(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &count, &workspace),
                 "cudnnBackendGetAttribute(workspace)");
      if (static_cast<size_t>(workspace) > workspace_bytes) continue;
      plans.push_back({std::move(plan), fused, fused && shape.bias,
                       fused && shape.epilogue == Epilogue::kAccumulate, compiles,
                       static_cast<size_t>(workspace), engine.index});
    }
  }
  return plans;
}

bool RunConvPlan(cudnnHandle_t handle, const ConvPlan& plan, const ConvOperands& operands,
                 void* workspace) {
  std::array<int64_t, 5> ids = {kX, kKernel, kY};
  std::array<const void*, 5> pointers = {operands.x, operands.kernel, operands.y};
  size_t count = 3;
  const auto add = [&](TensorId id, const void* pointer) {
    ids[count] = id;
    pointers[count++] = pointer;
  };
  if (plan.reads_bias) add(kBias, operands.bias);
  if (plan.reads_y) add(kZ, operands.y);
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<int64_t>(count),
           ids.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(count),
           pointers.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  Check(pack.Finalize(), ErrorCode::kInternal, "cuDNN refuses the addresses of a convolution");
  return cudnnBackendExecute(handle, plan.plan.get(), pack.get()) == CUDNN_STATUS_SUCCESS;
}

}  // namespace lingbot::ops::cuda
