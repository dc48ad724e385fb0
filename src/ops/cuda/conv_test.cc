#include "ops/cuda/conv.h"

#include "ops/cuda/test_util.h"

namespace lingbot::ops::cuda {
namespace {

struct Problem {
  explicit Problem(const ConvShape& s)
      : shape(s),
        x(Rounded(Random(s.rows * s.columns * s.in, 1), s.dtype)),
        kernel(Rounded(Random(s.out * s.size * s.size * s.in, 2), s.dtype)),
        bias(s.bias ? Random(s.out, 3) : std::vector<float>()),
        y(Rounded(Random(s.OutputSize(s.rows) * s.OutputSize(s.columns) * s.out, 4), s.dtype)) {}

  double At(int64_t row, int64_t column, int64_t channel) const {
    double sum = shape.bias ? bias[static_cast<size_t>(channel)] : 0.0;
    for (int64_t down = 0; down < shape.size; ++down) {
      for (int64_t across = 0; across < shape.size; ++across) {
        const int64_t r = row * shape.stride + down - shape.size / 2;
        const int64_t c = column * shape.stride + across - shape.size / 2;
        if (r < 0 || r >= shape.rows || c < 0 || c >= shape.columns) continue;
        const float* a = x.data() + (r * shape.columns + c) * shape.in;
        const float* b =
            kernel.data() + ((channel * shape.size + down) * shape.size + across) * shape.in;
        for (int64_t i = 0; i < shape.in; ++i) sum += double{a[i]} * b[i];
      }
    }
    return sum;
  }

  std::vector<float> Expected() const {
    std::vector<float> result = y;
    float* target = result.data();
    for (int64_t row = 0; row < shape.OutputSize(shape.rows); ++row) {
      for (int64_t column = 0; column < shape.OutputSize(shape.columns); ++column) {
        for (int64_t channel = 0; channel < shape.out; ++channel, ++target) {
          const double value = At(row, column, channel);
          const bool relu = shape.epilogue == Epilogue::kRelu;
          const double before = shape.epilogue == Epilogue::kAccumulate ? *target : 0.0;
          *target = static_cast<float>(relu ? std::max(value, 0.0) : before + value);
        }
      }
    }
    return result;
  }

  ConvShape shape;
  std::vector<float> x, kernel, bias, y;
};

class ConvCheck : public DeviceTest {
 protected:
  void Compare(const ConvShape& shape, AlgorithmChoice choice = AlgorithmChoice::kHeuristic) {
    const Problem problem(shape);
    const DeviceArray workspace(static_cast<int64_t>(ConvPlans::kWorkspaceBytes), DType::kU8);
    ConvPlans plans(workspace.data(), ConvPlans::kWorkspaceBytes, choice);
    const std::vector<float> expected = problem.Expected();
    const DeviceArray x(problem.x, shape.dtype), kernel(problem.kernel, shape.dtype);
    const DeviceArray bias(problem.bias, DType::kF32);
    // Unless the result is added to, y starts as NaN: nothing of it may come through.
    const auto make_y = [&] {
      return shape.epilogue == Epilogue::kAccumulate
                 ? DeviceArray(problem.y, shape.dtype)
                 : DeviceArray(static_cast<int64_t>(problem.y.size()), shape.dtype);
    };
    SCOPED_TRACE(testing::Message()
                 << shape.rows << "x" << shape.columns << ", " << shape.in << " to " << shape.out
                 << ", size " << shape.size << "/" << shape.stride << " " << NameOf(shape.dtype)
                 << ", epilogue " << static_cast<int>(shape.epilogue) << ": "
                 << plans.Describe(shape));
    // An f16 result may be rounded once before the bias joins.
    const double tolerance = 2.0 * Tolerance(shape.dtype) + 1e-7 * std::sqrt(9.0 * shape.in);
    const DeviceArray y = make_y(), plain = make_y();
    plans.Run(shape, {x.data(), kernel.data(), bias.floats(), y.data()}, stream());
    CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    EXPECT_LT(RelativeError(y.Download(), expected), tolerance);
    PlainConv(shape, {x.data(), kernel.data(), bias.floats(), plain.data()}, stream());
    CheckCuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    EXPECT_LT(RelativeError(plain.Download(), expected), tolerance);
  }
};

TEST_F(ConvCheck, AgreesWithPlainLoops) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kRelu, Epilogue::kAccumulate}) {
      for (const bool bias : {true, false}) {
        Compare({9, 12, 32, 16, 3, 1, dtype, bias, epilogue});
        Compare({7, 5, 24, 8, 3, 2, dtype, bias, epilogue});
        Compare({8, 6, 16, 40, 1, 1, dtype, bias, epilogue});
        Compare({6, 7, 5, 3, 3, 1, dtype, bias, epilogue});  // channels that no vector divides
        Compare({1, 1, 8, 8, 3, 1, dtype, bias, epilogue});
        Compare({27, 36, 64, 64, 3, 1, dtype, bias, epilogue});
      }
    }
  }
}

// The measurement leaves y alone.
TEST_F(ConvCheck, MeasuredChoiceComputesTheSame) {
  for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kRelu, Epilogue::kAccumulate}) {
    Compare({14, 18, 64, 64, 3, 1, DType::kF16, true, epilogue}, AlgorithmChoice::kMeasured);
  }
}

TEST_F(ConvCheck, KernelOrder) {
  const std::vector<float> kernel = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  const std::vector<float> last = ChannelsLastKernel(kernel, 1, 2, 3);
  EXPECT_EQ(last[0], 0.0f);
  EXPECT_EQ(last[1], 9.0f);
  EXPECT_EQ(last[2], 1.0f);
  EXPECT_EQ(last[17], 17.0f);
}

}  // namespace
}  // namespace lingbot::ops::cuda
