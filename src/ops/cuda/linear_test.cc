#include "ops/cuda/linear.h"

#include "ops/cuda/test_util.h"

namespace lingbot::ops::cuda {
namespace {

struct Size {
  int64_t rows, in, out;
};

double ExactGelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

double Apply(Epilogue epilogue, double value, double before) {
  switch (epilogue) {
    case Epilogue::kStore:
      return value;
    case Epilogue::kRelu:
      return std::max(value, 0.0);
    case Epilogue::kGelu:
      return ExactGelu(value);
    case Epilogue::kAccumulate:
      return before + value;
  }
  return value;
}

// A product with everything that a launcher needs: rows of x and y lie `pad` elements apart.
struct Problem {
  Problem(const Size& s, DType x_type, DType y_type, Epilogue e, bool with_bias, int64_t pad)
      : size(s),
        x_dtype(x_type),
        y_dtype(y_type),
        epilogue(e),
        x_stride(s.in + pad),
        y_stride(s.out + pad),
        x(Rounded(Random(s.rows * x_stride, 1), x_type)),
        weight(Rounded(Random(s.out * s.in, 2), x_type)),
        // The library may hold the bias in y's type; exact there, it tells nothing about rounding.
        bias(with_bias ? Rounded(Random(s.out, 3), y_type) : std::vector<float>()),
        y(Rounded(Random(s.rows * y_stride, 4), y_type)) {}

  std::vector<float> Expected() const {
    std::vector<float> result = y;
    for (int64_t r = 0; r < size.rows; ++r) {
      for (int64_t o = 0; o < size.out; ++o) {
        double sum = bias.empty() ? 0.0 : bias[static_cast<size_t>(o)];
        const float* a = x.data() + r * x_stride;
        const float* b = weight.data() + o * size.in;
        for (int64_t i = 0; i < size.in; ++i) sum += double{alpha} * a[i] * b[i];
        float& target = result[static_cast<size_t>(r * y_stride + o)];
        target = static_cast<float>(Apply(epilogue, sum, target));
      }
    }
    return result;
  }

  Size size;
  DType x_dtype, y_dtype;
  Epilogue epilogue;
  int64_t x_stride, y_stride;
  float alpha = 1.0f;
  std::vector<float> x, weight, bias, y;
};

struct OnDevice {
  explicit OnDevice(const Problem& p)
      : x(p.x, p.x_dtype),
        weight(p.weight, p.x_dtype),
        bias(p.bias, DType::kF32),
        narrow(p.bias, p.y_dtype),
        y(p.y, p.y_dtype),
        has_bias(!p.bias.empty()) {}

  LinearCall Call(const Problem& p) const {
    LinearCall call{p.size.rows, p.size.in, p.size.out};
    call.x = x.data();
    call.x_dtype = p.x_dtype;
    call.x_stride = p.x_stride;
    call.weight = weight.data();
    call.bias = has_bias ? bias.floats() : nullptr;
    call.narrow_bias = has_bias && p.y_dtype != DType::kF32 ? narrow.data() : nullptr;
    call.y = y.data();
    call.y_dtype = p.y_dtype;
    call.y_stride = p.y_stride;
    call.epilogue = p.epilogue;
    call.alpha = p.alpha;
    return call;
  }

  DeviceArray x, weight, bias, narrow, y;
  bool has_bias;
};

class LinearCheck : public DeviceTest {
 protected:
  void Compare(const Problem& problem, AlgorithmChoice choice = AlgorithmChoice::kHeuristic) {
    const DeviceArray workspace(static_cast<int64_t>(LinearPlans::kWorkspaceBytes), DType::kU8);
    LinearPlans plans(workspace.data(), LinearPlans::kWorkspaceBytes, choice);
    const std::vector<float> expected = problem.Expected();
    double tolerance = Tolerance(problem.y_dtype) + 1e-7 * std::sqrt(problem.size.in);
    // A pass of its own rounds y a second time.
    if (problem.epilogue == Epilogue::kGelu) tolerance *= 1.8;
    const OnDevice library(problem), plain(problem);
    const LinearCall call = library.Call(problem);
    SCOPED_TRACE(testing::Message()
                 << problem.size.rows << "x" << problem.size.in << "x" << problem.size.out << " "
                 << NameOf(problem.x_dtype) << " to " << NameOf(problem.y_dtype) << ", epilogue "
                 << static_cast<int>(problem.epilogue) << ", " << plans.Describe(call));
    plans.Run(call, stream());
    CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    EXPECT_LT(RelativeError(library.y.Download(), expected), tolerance);
    PlainLinear(plain.Call(problem), stream());
    CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    EXPECT_LT(RelativeError(plain.y.Download(), expected), tolerance);
  }
};

constexpr Epilogue kEpilogues[] = {Epilogue::kStore, Epilogue::kRelu, Epilogue::kGelu,
                                   Epilogue::kAccumulate};
constexpr std::pair<DType, DType> kTypes[] = {{DType::kF32, DType::kF32},
                                              {DType::kBF16, DType::kBF16},
                                              {DType::kBF16, DType::kF32},
                                              {DType::kF16, DType::kF16},
                                              {DType::kF16, DType::kF32}};

TEST_F(LinearCheck, AgreesWithPlainLoopsOverShapesTypesAndEpilogues) {
  for (const Size& size : {Size{1, 18, 27}, Size{7, 64, 64}, Size{17, 9, 256}, Size{33, 108, 9},
                           Size{114, 128, 384}, Size{783, 256, 100}, Size{30, 588, 130}}) {
    for (const auto& [x, y] : kTypes) {
      for (const Epilogue epilogue : kEpilogues) {
        Compare(Problem(size, x, y, epilogue, true, 0));
      }
    }
  }
}

TEST_F(LinearCheck, AlphaScalesTheProductAndNotTheBias) {
  for (const auto& [x, y] : kTypes) {
    for (const Epilogue epilogue : kEpilogues) {
      Problem problem({9, 64, 40}, x, y, epilogue, true, 0);
      problem.alpha = 0.125f;
      Compare(problem);
    }
  }
}

TEST_F(LinearCheck, HonoursRowStridesAndLeavesTheGapsAlone) {
  for (const int64_t pad : {3, 8, 64}) {
    for (const auto& [x, y] : kTypes) {
      Compare(Problem({45, 96, 72}, x, y, Epilogue::kStore, true, pad));
      Compare(Problem({45, 96, 72}, x, y, Epilogue::kGelu, false, pad));
      Compare(Problem({45, 96, 72}, x, y, Epilogue::kAccumulate, false, pad));
    }
  }
}

// Every row count and both kernels: widths that are and are not multiples of 4.
TEST_F(LinearCheck, FewRows) {
  for (int64_t rows = 1; rows <= 16; ++rows) {
    for (const Epilogue epilogue : kEpilogues) {
      Compare(Problem({rows, 132, 37}, DType::kF32, DType::kF32, epilogue, true, 4));
      Compare(Problem({rows, 9, 50}, DType::kF32, DType::kF32, epilogue, false, 1));
    }
  }
  Compare(Problem({1, 8192, 515}, DType::kF32, DType::kF32, Epilogue::kAccumulate, true, 0));
  Compare(Problem({8, 2048, 515}, DType::kF32, DType::kF32, Epilogue::kGelu, true, 0));
}

// tf32 keeps 10 bits of the operands: an error of 3e-4 that the tolerance here does not let
// through.
TEST_F(LinearCheck, Float32IsNotRoundedToTf32) {
  Compare(Problem({256, 1024, 256}, DType::kF32, DType::kF32, Epilogue::kStore, true, 0));
}

// The measurement leaves y alone.
TEST_F(LinearCheck, MeasuredChoiceComputesTheSame) {
  for (const Epilogue epilogue : kEpilogues) {
    Compare(Problem({100, 512, 256}, DType::kBF16, DType::kF32, epilogue, true, 8),
            AlgorithmChoice::kMeasured);
  }
}

TEST_F(LinearCheck, ReplaysFromAGraphAndRepeatsToTheBit) {
  const Problem problem({978, 1024, 256}, DType::kBF16, DType::kBF16, Epilogue::kGelu, true, 0);
  const DeviceArray workspace(static_cast<int64_t>(LinearPlans::kWorkspaceBytes), DType::kU8);
  LinearPlans plans(workspace.data(), LinearPlans::kWorkspaceBytes);
  const OnDevice device(problem);
  const LinearCall call = device.Call(problem);
  plans.Run(call, stream());
  CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  const std::vector<float> first = device.y.Download();

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CheckCuda(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "capture");
  plans.Run(call, stream());
  CheckCuda(cudaStreamEndCapture(stream(), &graph), "cudaStreamEndCapture");
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < 3; ++i) {
    CheckCuda(cudaMemset(device.y.data(), 0xFF, device.y.bytes()), "cudaMemset");
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CheckCuda(cudaGraphLaunch(executable, stream()), "cudaGraphLaunch");
    CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    EXPECT_EQ(device.y.Download(), first);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace lingbot::ops::cuda
