// Times every launcher at the sizes of the released network on a 378x504 frame and prints how far
// each is from what the device can do. A developer's tool: nothing here is checked.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot/error.h"
#include "ops/cuda/check.h"
#include "ops/cuda/conv.h"
#include "ops/cuda/device_array.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/layer_norm.h"
#include "ops/cuda/linear.h"
#include "ops/cuda/norm_rotate.h"
#include "ops/cuda/resize.h"
#include "ops/cuda/small_rows.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kRows = 978;  // tokens of a frame

// Milliseconds of one call, by replaying a graph of `calls` of them: launches cost what they cost
// inside a frame.
double Milliseconds(cudaStream_t stream, const std::function<void(int)>& call, int calls = 20) {
  call(0);
  CheckCuda(cudaStreamSynchronize(stream), "warm-up");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < calls; ++i) call(i);
  CheckCuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t begin = nullptr, end = nullptr;
  CheckCuda(cudaEventCreate(&begin), "cudaEventCreate");
  CheckCuda(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> times;
  for (int repeat = 0; repeat < 9; ++repeat) {
    CheckCuda(cudaEventRecord(begin, stream), "cudaEventRecord");
    CheckCuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    CheckCuda(cudaEventRecord(end, stream), "cudaEventRecord");
    CheckCuda(cudaEventSynchronize(end), "cudaEventSynchronize");
    float time = 0.0f;
    CheckCuda(cudaEventElapsedTime(&time, begin, end), "cudaEventElapsedTime");
    times.push_back(time / calls);
  }
  std::sort(times.begin(), times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return times[times.size() / 2];
}

struct Bench {
  cudaStream_t stream = nullptr;

  void Line(const std::string& name, double ms, double flops, double bytes,
            const std::string& note) const {
    std::printf("%-44s %8.2f us", name.c_str(), ms * 1e3);
    if (flops > 0) std::printf(" %7.1f TFLOP/s", flops / ms * 1e-9);
    if (bytes > 0) std::printf(" %7.2f TB/s", bytes / ms * 1e-9);
    std::printf("  %s\n", note.c_str());
    std::fflush(stdout);
  }
};

// Values of one size class serve all arrays: a random tile, repeated.
DeviceArray Filled(int64_t count, DType dtype) {
  DeviceArray array(count, dtype);
  const int64_t tile = std::min<int64_t>(count, 1 << 20);
  const DeviceArray source(Random(tile, 5), dtype);
  for (int64_t at = 0; at < count; at += tile) {
    const size_t bytes = static_cast<size_t>(std::min(tile, count - at)) * SizeOf(dtype);
    CheckCuda(cudaMemcpy(array.at(at), source.data(), bytes, cudaMemcpyDeviceToDevice), "memcpy");
  }
  return array;
}

struct LinearSize {
  int64_t rows, in, out;
  DType x, y;
  Epilogue epilogue;
  const char* name;
};

void TimeLinear(const Bench& bench, LinearPlans& plans, const LinearSize& s) {
  // Weights of several blocks in turn, as in a frame: each is read from memory, not from the cache.
  constexpr int kSets = 12;
  const DeviceArray x = Filled(s.rows * s.in, s.x), weight = Filled(kSets * s.out * s.in, s.x);
  const DeviceArray bias = Filled(s.out, DType::kF32), narrow = Filled(s.out, s.y);
  const DeviceArray y = Filled(s.rows * s.out, s.y);
  const auto call_of = [&](int i) {
    LinearCall call{s.rows, s.in, s.out};
    call.x = x.data();
    call.x_dtype = s.x;
    call.x_stride = s.in;
    call.weight = weight.at(i % kSets * s.out * s.in);
    call.bias = bias.floats();
    call.narrow_bias = s.y == DType::kF32 ? nullptr : narrow.data();
    call.y = y.data();
    call.y_dtype = s.y;
    call.y_stride = s.out;
    call.epilogue = s.epilogue;
    return call;
  };
  const double flops = 2.0 * static_cast<double>(s.rows * s.in * s.out);
  const double ms = Milliseconds(bench.stream, [&](int i) { plans.Run(call_of(i), bench.stream); });
  std::string note = plans.Describe(call_of(0));
  if (s.rows > kMaxSmallRows || s.x != DType::kF32) {
    note += "; candidates";
    for (int c = 0; c < plans.Candidates(call_of(0)); ++c) {
      const double other = Milliseconds(
          bench.stream, [&](int i) { plans.RunCandidate(call_of(i), c, bench.stream); });
      note += " " + std::to_string(other * 1e3).substr(0, 5);
    }
  }
  const std::string name = std::string(s.name) + " " + std::to_string(s.rows) + "x" +
                           std::to_string(s.in) + "->" + std::to_string(s.out);
  bench.Line(name, ms, flops, static_cast<double>(s.out * s.in) * static_cast<double>(SizeOf(s.x)),
             note);
}

void TimeProducts(const Bench& bench) {
  const DeviceArray workspace(static_cast<int64_t>(LinearPlans::kWorkspaceBytes), DType::kU8);
  LinearPlans plans(workspace.data(), LinearPlans::kWorkspaceBytes, AlgorithmChoice::kMeasured);
  constexpr DType kBF16 = DType::kBF16, kF16 = DType::kF16, kF32 = DType::kF32;
  for (const int64_t rows : {int64_t{kRows}, int64_t{8 * kRows}}) {
    for (const LinearSize& s :
         {LinearSize{rows, 1024, 3072, kBF16, kBF16, Epilogue::kStore, "qkv"},
          LinearSize{rows, 1024, 1024, kBF16, kF32, Epilogue::kAccumulate, "proj"},
          LinearSize{rows, 1024, 4096, kBF16, kBF16, Epilogue::kStore, "fc1, no GELU"},
          LinearSize{rows, 1024, 4096, kBF16, kBF16, Epilogue::kGelu, "fc1"},
          LinearSize{rows, 4096, 1024, kBF16, kF32, Epilogue::kAccumulate, "fc2"}}) {
      TimeLinear(bench, plans, s);
    }
  }
  for (const LinearSize& s :
       {LinearSize{972, 588, 1024, kBF16, kF32, Epilogue::kStore, "patches"},
        LinearSize{972, 2048, 256, kF16, kF16, Epilogue::kStore, "depth project"},
        LinearSize{972, 2048, 1024, kF16, kF16, Epilogue::kStore, "depth project"},
        LinearSize{972, 256, 4096, kF16, kF16, Epilogue::kStore, "enlarge"},
        LinearSize{15552, 256, 256, kF16, kF16, Epilogue::kStore, "1x1"},
        LinearSize{kRows, 1024, 3072, kF32, kF32, Epilogue::kStore, "fp32 qkv"}}) {
    TimeLinear(bench, plans, s);
  }
  for (const int64_t rows : {1, 2, 8, 16}) {
    for (const LinearSize& s :
         {LinearSize{rows, 2048, 6144, kF32, kF32, Epilogue::kStore, "camera qkv"},
          LinearSize{rows, 2048, 2048, kF32, kF32, Epilogue::kAccumulate, "camera proj"},
          LinearSize{rows, 2048, 8192, kF32, kF32, Epilogue::kGelu, "camera fc1"},
          LinearSize{rows, 8192, 2048, kF32, kF32, Epilogue::kAccumulate, "camera fc2"}}) {
      TimeLinear(bench, plans, s);
    }
  }
}

// The camera trunk's products in the order of a frame: 4 passes over 4 blocks.
void TimeCameraTrunk(const Bench& bench) {
  constexpr int64_t kC = 2048;
  const DeviceArray weights = Filled(4 * 12 * kC * kC, DType::kF32);
  const DeviceArray a = Filled(4 * kC, DType::kF32), b = Filled(4 * kC, DType::kF32);
  const auto product = [&](int64_t at, int64_t in, int64_t out, const DeviceArray& x,
                           const DeviceArray& y, Epilogue epilogue) {
    SmallRowsLinear({1, in, out, x.floats(), in, weights.floats() + at * kC * kC, x.floats(),
                     y.floats(), out, epilogue},
                    bench.stream);
  };
  const double ms = Milliseconds(
      bench.stream,
      [&](int) {
        for (int block = 0; block < 4; ++block) {
          product(12 * block, kC, 3 * kC, a, b, Epilogue::kStore);
          product(12 * block + 3, kC, kC, b, a, Epilogue::kStore);
          product(12 * block + 4, kC, 4 * kC, a, b, Epilogue::kGelu);
          product(12 * block + 8, 4 * kC, kC, b, a, Epilogue::kStore);
        }
      },
      4);
  bench.Line("camera trunk's products, one pass", ms, 0, 4.0 * 12 * kC * kC * 4, "");
}

void TimeConvs(const Bench& bench, bool all) {
  const DeviceArray workspace(static_cast<int64_t>(ConvPlans::kWorkspaceBytes), DType::kU8);
  auto clock = std::chrono::steady_clock::now();
  const auto lap = [&clock] {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - clock).count();
    clock = now;
    return std::to_string(ms).substr(0, 6) + " ms";
  };
  ConvPlans plans(workspace.data(), ConvPlans::kWorkspaceBytes, AlgorithmChoice::kMeasured);
  std::printf("cuDNN handle made in %s\n", lap().c_str());
  constexpr DType kF16 = DType::kF16, kF32 = DType::kF32;
  constexpr Epilogue kStore = Epilogue::kStore, kRelu = Epilogue::kRelu,
                     kAccumulate = Epilogue::kAccumulate;
  for (const ConvShape& s : {ConvShape{216, 288, 256, 256, 3, 1, kF16, false, kStore},
                             ConvShape{108, 144, 256, 256, 3, 1, kF16, true, kRelu},
                             ConvShape{108, 144, 256, 256, 3, 1, kF16, true, kAccumulate},
                             ConvShape{54, 72, 256, 256, 3, 1, kF16, true, kRelu},
                             ConvShape{54, 72, 256, 256, 3, 1, kF16, true, kAccumulate},
                             ConvShape{27, 36, 256, 256, 3, 1, kF16, true, kRelu},
                             ConvShape{14, 18, 256, 256, 3, 1, kF16, true, kAccumulate},
                             ConvShape{108, 144, 256, 256, 3, 1, kF16, false, kStore},
                             ConvShape{54, 72, 512, 256, 3, 1, kF16, false, kStore},
                             ConvShape{27, 36, 1024, 256, 3, 1, kF16, false, kStore},
                             ConvShape{27, 36, 1024, 1024, 3, 2, kF16, true, kStore},
                             ConvShape{14, 18, 1024, 256, 3, 1, kF16, false, kStore},
                             ConvShape{216, 288, 256, 128, 3, 1, kF16, true, kStore},
                             ConvShape{378, 504, 128, 32, 3, 1, kF16, true, kRelu},
                             ConvShape{108, 144, 256, 256, 3, 1, kF32, true, kRelu}}) {
    const DeviceArray x = Filled(s.rows * s.columns * s.in, s.dtype);
    const DeviceArray kernel = Filled(s.out * s.size * s.size * s.in, s.dtype);
    const DeviceArray bias = Filled(s.out, DType::kF32);
    const int64_t pixels = s.OutputSize(s.rows) * s.OutputSize(s.columns);
    const DeviceArray y = Filled(pixels * s.out, s.dtype);
    const ConvOperands operands{x.data(), kernel.data(), bias.floats(), y.data()};
    const double flops = 2.0 * static_cast<double>(pixels * s.out * s.in * s.size * s.size);
    const char* epilogues[] = {"store", "relu", "gelu", "accumulate"};
    const std::string name = std::to_string(s.rows) + "x" + std::to_string(s.columns) + " " +
                             std::to_string(s.in) + "->" + std::to_string(s.out) + " /" +
                             std::to_string(s.stride) + " " + NameOf(s.dtype) + " " +
                             epilogues[static_cast<int>(s.epilogue)];
    lap();
    plans.Prepare(s);
    const std::string prepared = lap();
    bench.Line(name, Milliseconds(bench.stream, [&](int) { plans.Run(s, operands, bench.stream); }),
               flops, 0, plans.Describe(s) + ", plan in " + prepared);
    if (!all) continue;
    lap();
    const std::vector<ConvCandidate> candidates = plans.Candidates(s, true);
    std::printf("    %zu candidates in %s\n", candidates.size(), lap().c_str());
    for (size_t c = 0; c < candidates.size(); ++c) {
      if (!plans.RunCandidate(s, c, operands, bench.stream)) {
        std::printf("    %s: refused\n", candidates[c].engine.c_str());
        continue;
      }
      const auto run = [&](int) { plans.RunCandidate(s, c, operands, bench.stream); };
      bench.Line("    " + std::to_string(candidates[c].workspace_bytes) + " bytes",
                 Milliseconds(bench.stream, run, 10), flops, 0, candidates[c].engine);
    }
  }
}

void TimeBlocks(const Bench& bench) {
  for (const int64_t rows : {int64_t{kRows}, int64_t{8 * kRows}}) {
    for (const int64_t channels : {1024, 2048}) {
      const DeviceArray x = Filled(rows * channels, DType::kF32);
      const DeviceArray g = Filled(channels, DType::kF32),
                        y = Filled(rows * channels, DType::kBF16);
      const double ms = Milliseconds(bench.stream, [&](int) {
        LayerNorm({rows, channels, 0, {channels, 0}, {channels, 0}}, x.floats(), g.floats(),
                  g.floats(), 1e-5f, y.data(), DType::kBF16, bench.stream);
      });
      bench.Line("LayerNorm to bf16 " + std::to_string(rows) + "x" + std::to_string(channels), ms,
                 0, 6.0 * static_cast<double>(rows * channels), "");
    }
    const int64_t width = 1024;
    const DeviceArray qkv = Filled(rows * 3 * width, DType::kF16);
    const DeviceArray table = Filled(rows * 32, DType::kF32), norm = Filled(64, DType::kF32);
    const DeviceArray k = Filled(rows * width, DType::kBF16),
                      v = Filled(rows * width, DType::kBF16);
    std::vector<int64_t> rows_of;
    for (int64_t r = 0; r < rows; ++r) rows_of.push_back(r * width);
    const DeviceArray offsets = DeviceArray::Integers(rows_of);
    const QkvRows q{qkv.data(), DType::kF16, DType::kBF16, rows, 16, 64};
    const HeadNorms norms{norm.floats(), norm.floats(), norm.floats(), norm.floats(), 1e-5f};
    const double in_place = Milliseconds(bench.stream, [&](int) {
      NormRotate(q, norms, {Pairing::kHalvesOfHalf, table.floats(), table.floats(), rows},
                 bench.stream);
    });
    bench.Line("norm and rotate in place " + std::to_string(rows), in_place, 0,
               12.0 * static_cast<double>(rows * width), "");
    const double cached = Milliseconds(bench.stream, [&](int) {
      NormRotateToCache(q, norms, {Pairing::kAdjacent, table.floats(), table.floats(), rows},
                        {k.data(), v.data(), DType::kBF16, offsets.as<int64_t>()}, bench.stream);
    });
    bench.Line("norm and rotate to the cache " + std::to_string(rows), cached, 0,
               12.0 * static_cast<double>(rows * width), "");
    const DeviceArray hidden = Filled(rows * 4096, DType::kBF16), bias = Filled(4096, DType::kF32);
    const double gelu = Milliseconds(bench.stream, [&](int) {
      AddBiasGelu(hidden.data(), DType::kBF16, rows, 4096, 4096, bias.floats(), bench.stream);
    });
    bench.Line("bias and GELU pass " + std::to_string(rows) + "x4096", gelu, 0,
               4.0 * static_cast<double>(rows * 4096), "");
    const DeviceArray tap = Filled(rows * 2048, DType::kF32), x = Filled(rows * 1024, DType::kF32);
    const double copy = Milliseconds(bench.stream, [&](int) {
      CopyRows(x.floats(), 1024, tap.floats(), 2048, rows, 1024, bench.stream);
    });
    bench.Line("copy into a tap " + std::to_string(rows), copy, 0,
               8.0 * static_cast<double>(rows * 1024), "");
  }
}

void TimeFeatures(const Bench& bench) {
  constexpr DType kF16 = DType::kF16;
  const DeviceArray x = Filled(int64_t{216} * 288 * 256, kF16),
                    y = Filled(int64_t{378} * 504 * 256, kF16);
  const DeviceArray table = Filled(504 * 256, DType::kF32), out = Filled(378 * 504, DType::kF32);
  const auto time = [&](const char* name, double bytes, const std::function<void(int)>& call) {
    bench.Line(name, Milliseconds(bench.stream, call), 0, bytes, "");
  };
  time("resize 108x144 -> 216x288, 256 f16", 2.0 * 256 * (108 * 144 + 216 * 288), [&](int) {
    ResizeBilinear({108, 144, 216, 288, 256}, x.data(), kF16, {}, y.data(), bench.stream);
  });
  time("resize and map 216x288 -> 378x504, 128 f16", 2.0 * 128 * (216 * 288 + 378 * 504), [&](int) {
    ResizeBilinear({216, 288, 378, 504, 128}, x.data(), kF16, {table.floats(), table.floats()},
                   y.data(), bench.stream);
  });
  time("resize 27x36 -> 54x72, 256 f16", 2.0 * 256 * (27 * 36 + 54 * 72), [&](int) {
    ResizeBilinear({27, 36, 54, 72, 256}, x.data(), kF16, {}, y.data(), bench.stream);
  });
  time("position map 27x36, 1024 f16", 4.0 * 27 * 36 * 1024, [&](int) {
    AddPositionMap(table.floats(), table.floats(), y.data(), kF16, 27, 36, 1024, bench.stream);
  });
  time("depth to space 27x36 x4, 256 f16", 4.0 * 27 * 36 * 4096,
       [&](int) { DepthToSpace(x.data(), kF16, 27, 36, 4, 256, y.data(), bench.stream); });
  time("predict depth 378x504, 32 f16", 378.0 * 504 * 72, [&](int) {
    PredictDepth(y.data(), kF16, 378 * 504, 32, table.floats(), table.floats(), out.floats(),
                 out.floats(), bench.stream);
  });
  time("relu 108x144, 256 f16", 4.0 * 108 * 144 * 256,
       [&](int) { Relu(y.data(), kF16, int64_t{108} * 144 * 256, bench.stream); });
  const DeviceArray image = Filled(int64_t{3} * 378 * 504, DType::kF32);
  const Normalization normalization{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
  time("patches of 378x504 to bf16", 378.0 * 504 * 3 * 6, [&](int) {
    ExtractPatches(image.floats(), 378, 504, 14, normalization, y.data(), DType::kBF16, 588,
                   bench.stream);
  });
}

int Run(bool all) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device\n");
    return 1;
  }
  cudaDeviceProp properties{};
  CheckCuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  Bench bench;
  CheckCuda(cudaStreamCreateWithFlags(&bench.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  TimeProducts(bench);
  TimeCameraTrunk(bench);
  TimeBlocks(bench);
  TimeFeatures(bench);
  TimeConvs(bench, all);
  return 0;
}

}  // namespace
}  // namespace lingbot::ops::cuda

int main(int count, char** arguments) {
  try {
    return lingbot::ops::cuda::Run(count > 1 && std::string_view(arguments[1]) == "--candidates");
  } catch (const lingbot::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
