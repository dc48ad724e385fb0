// Everything but products with weights: peak, attention, convolutions, memory-bound operators.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "bench/multiply_add.h"
#include "bench/ops_bench.h"
#include "bench/raw_matmul.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/layer_norm.h"
#include "ops/resize.h"
#include "ops/rotary.h"

namespace lingbot {
namespace {

constexpr int64_t kTokens = 783;   // a frame of 518x294 pixels: 21 x 37 patches and 6 specials
constexpr int64_t kPatches = 777;  // of these, and tokens of a page
constexpr int64_t kHeads = 16;
constexpr int64_t kHeadDim = 64;
constexpr int64_t kChannels = kHeads * kHeadDim;

constexpr std::array<AttentionBackend, 2> kBackends = {AttentionBackend::kCpu,
                                                       AttentionBackend::kSdpa};

// One row for every back end, measured in turn.
void BenchBackends(const std::string& operation, double operations, double seconds,
                   const std::function<void(AttentionBackend)>& attend, const RateSink& sink) {
  std::vector<std::function<void()>> calls;
  for (const AttentionBackend backend : kBackends) {
    calls.push_back([&attend, backend] { attend(backend); });
  }
  const std::vector<Timing> timings = MeasureInTurn(calls, seconds);
  for (size_t i = 0; i < kBackends.size(); ++i) {
    sink(WithRate({"attention", operation, NameOf(kBackends[i]), "GFLOP/s", 0, 0, 0}, operations,
                  timings[i]));
  }
}

ops::Context AttentionContext(int threads, int64_t kv_tokens) {
  size_t workspace = 0;
  for (const AttentionBackend backend : kBackends) {
    workspace =
        std::max(workspace, ops::AttentionWorkspaceBytes(backend, ThreadTeam(threads).size(),
                                                         kTokens, kv_tokens, kHeads, kHeadDim));
  }
  return ops::Context(threads, workspace);
}

double AttentionOperations(int64_t kv_tokens) {
  return 4.0 * static_cast<double>(kTokens) * static_cast<double>(kv_tokens) * kChannels;
}

void BenchInFrame(const OpsOptions& options, const RateSink& sink) {
  ops::Context context = AttentionContext(options.threads, kTokens);
  const Buffer qkv = RandomBuffer(DType::kF32, {kTokens, 3, kHeads, kHeadDim});
  const Buffer out(DType::kF32, {kTokens, kHeads, kHeadDim});
  const auto part = [&](int64_t index) {
    return TensorView(qkv.data<float>() + index * kChannels, DType::kF32,
                      {kTokens, kHeads, kHeadDim}, {3 * kChannels, kHeadDim, 1});
  };
  BenchBackends(
      fmt::format("in a frame, {} tokens", kTokens), AttentionOperations(kTokens), options.seconds,
      [&](AttentionBackend backend) {
        ops::DenseAttention(context, backend, part(0), part(1), part(2), out.view());
      },
      sink);
}

void BenchPaged(const OpsOptions& options, int64_t page_count, DType dtype, const RateSink& sink) {
  const int64_t kv_tokens = page_count * kPatches;
  ops::Context context = AttentionContext(options.threads, kv_tokens);
  const Buffer q = RandomBuffer(DType::kF32, {kTokens, kHeads, kHeadDim});
  const Buffer out(DType::kF32, {kTokens, kHeads, kHeadDim});
  const Buffer kv = RandomBuffer(dtype, {2, kv_tokens, kHeads, kHeadDim});
  std::vector<int32_t> pages(static_cast<size_t>(page_count));
  std::iota(pages.begin(), pages.end(), 0);
  const auto* bytes = static_cast<const std::byte*>(kv.view().raw());
  const ops::PagedKvView view{bytes,     bytes + kv.bytes() / 2,
                              dtype,     kPatches * kChannels,
                              kChannels, kHeadDim,
                              kPatches,  pages,
                              kPatches};
  BenchBackends(
      fmt::format("{} tokens over {} pages, {}", kTokens, page_count, NameOf(dtype)),
      AttentionOperations(kv_tokens), options.seconds,
      [&](AttentionBackend backend) {
        ops::PagedAttention(context, backend, q.view(), view, ops::kUnbounded, out.view());
      },
      sink);
}

struct ConvCase {
  const char* name;
  int64_t rows, columns, in, out;
  int stride;
};

// 3x3 convolutions of the depth head.
constexpr std::array<ConvCase, 6> kConvs = {{
    {"reduce level 4", 21, 37, 1024, 1024, 2},
    {"adapt level 2", 42, 74, 512, 256, 1},
    {"residual level 2", 42, 74, 256, 256, 1},
    {"residual level 1", 84, 148, 256, 256, 1},
    {"output 1", 168, 296, 256, 128, 1},
    {"output 2", 294, 518, 128, 32, 1},
}};

void BenchConvCase(const OpsOptions& options, const ConvCase& c, const RateSink& sink) {
  constexpr int kSize = 3;
  ops::Context context(options.threads, ops::Conv2dWorkspaceBytes({}, c.rows, c.columns, c.in,
                                                                  c.out, kSize, c.stride));
  const int64_t count = c.out * c.in * kSize * kSize;
  const Buffer kernel = RandomBuffer(DType::kF32, {count});
  const ops::ConvWeights weights({kernel.data<float>(), static_cast<size_t>(count)}, {}, c.out,
                                 c.in, kSize, c.stride, {});
  const Buffer x = RandomBuffer(DType::kF32, {c.rows, c.columns, c.in});
  const Buffer y(DType::kF32, {ops::ConvOutputSize(c.rows, kSize, c.stride),
                               ops::ConvOutputSize(c.columns, kSize, c.stride), c.out});
  const Timing timing =
      Measure([&] { ops::Conv2d(context, x.view(), weights, ops::ConvEpilogue::kStore, y.view()); },
              options.seconds);
  const double pixels = static_cast<double>(y.shape()[0] * y.shape()[1]);
  sink(WithRate({"conv", fmt::format("{} {}x{}, {} -> {}", c.name, c.rows, c.columns, c.in, c.out),
                 "Conv2d f32", "GFLOP/s", 0, 0, 0},
                2.0 * pixels * static_cast<double>(count), timing));
}

// `bytes` are read and written per call.
void BenchBytes(const std::string& operation, const std::string& by, size_t bytes, double seconds,
                const std::function<void()>& call, const RateSink& sink) {
  sink(WithRate({"memory", operation, by, "GB/s", 0, 0, 0}, static_cast<double>(bytes),
                Measure(call, seconds)));
}

void BenchCopy(const OpsOptions& options, const RateSink& sink) {
  constexpr int64_t kBytes = 256 << 20;
  const ThreadTeam team(options.threads);
  const Buffer from = RandomBuffer(DType::kF32, {kBytes / 4});
  const Buffer to(DType::kF32, {kBytes / 4});
  BenchBytes(
      "copy of 268 MB", "memcpy", 2 * kBytes, options.seconds,
      [&] {
        team.ForRange(kBytes / 4, 1 << 16, [&](int64_t begin, int64_t end) {
          std::memcpy(to.data<float>() + begin, from.data<float>() + begin,
                      static_cast<size_t>(end - begin) * sizeof(float));
        });
      },
      sink);
}

void BenchNorms(const OpsOptions& options, const RateSink& sink) {
  ops::Context context(options.threads, 0);
  const Buffer x = RandomBuffer(DType::kF32, {kTokens, kChannels});
  const Buffer y(DType::kF32, {kTokens, kChannels});
  const Buffer gamma = RandomBuffer(DType::kF32, {kChannels});
  const Buffer beta = RandomBuffer(DType::kF32, {kChannels});
  BenchBytes(
      fmt::format("LayerNorm {} x {}", kTokens, kChannels), "LayerNorm", 2 * x.bytes(),
      options.seconds,
      [&] { ops::LayerNorm(context, x.view(), gamma.view(), beta.view(), 1e-5f, y.view()); }, sink);
  const Buffer k = RandomBuffer(DType::kF32, {kTokens, kHeads, kHeadDim});
  const ops::Qkv heads{x.view().Reshape(k.shape()), k.view(), k.view()};
  const ops::HeadNorm norm{gamma.view().Slice(0, 0, kHeadDim), beta.view().Slice(0, 0, kHeadDim),
                           1e-5f};
  const Buffer angles = RandomBuffer(DType::kF32, {kTokens, kHeadDim / 2});
  const ops::RotaryTable table{ops::RotaryPairing::kAdjacent, angles.view(), angles.view()};
  BenchBytes(
      fmt::format("NormRotate q and k, {} x {} x {}", kTokens, kHeads, kHeadDim), "NormRotate",
      4 * x.bytes(), options.seconds, [&] { ops::NormRotate(context, heads, norm, norm, table); },
      sink);
}

void BenchResize(const OpsOptions& options, const RateSink& sink) {
  constexpr size_t kTables = 1 << 20;  // columns and rows of the target, generously
  ops::Context context(options.threads, kTables);
  const Buffer x = RandomBuffer(DType::kF32, {168, 296, 128});
  const Buffer y(DType::kF32, {294, 518, 128});
  BenchBytes(
      "168x296 -> 294x518, 128 channels", "bilinear", x.bytes() + y.bytes(), options.seconds,
      [&] { ops::ResizeBilinear(context, x.view(), y.view()); }, sink);
}

}  // namespace

void BenchPeak(const OpsOptions& options, const RateSink& sink) {
  constexpr int64_t kRounds = 2'000'000;
  constexpr int64_t kSpacing = 16;  // floats: a cache line per thread
  const int most = ThreadTeam(options.threads).size();
  for (const int threads : {1, most}) {
    if (threads == 1 && most == 1) continue;
    const ThreadTeam team(threads);
    std::vector<float> results(static_cast<size_t>(threads * kSpacing), 1.0f);
    std::vector<int64_t> operations(static_cast<size_t>(threads));
    const Timing timing = Measure(
        [&] {
          team.ForEach(threads, [&](int64_t i) {
            operations[i] = MultiplyAdds(kRounds, &results[i * kSpacing]);
          });
        },
        options.seconds);
    sink(WithRate(
        {"peak", fmt::format("multiply-adds, {} threads", threads), "Highway f32", "GFLOP/s", 0, 0,
         0},
        static_cast<double>(std::accumulate(operations.begin(), operations.end(), int64_t{0})),
        timing));
  }
}

void BenchAttention(const OpsOptions& options, const RateSink& sink) {
  BenchInFrame(options, sink);
  for (const int64_t pages : {16, 72}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) BenchPaged(options, pages, dtype, sink);
  }
}

void BenchConv(const OpsOptions& options, const RateSink& sink) {
  for (const ConvCase& c : kConvs) BenchConvCase(options, c, sink);
}

void BenchMemory(const OpsOptions& options, const RateSink& sink) {
  BenchCopy(options, sink);
  BenchNorms(options, sink);
  BenchResize(options, sink);
}

}  // namespace lingbot
