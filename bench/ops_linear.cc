// Products with weights: the matrix library alone, and ops::Linear beside it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "bench/ops_bench.h"
#include "bench/raw_matmul.h"
#include "ops/linear.h"

namespace lingbot {
namespace {

using ops::LinearEpilogue;

constexpr const char* kUnit = "GFLOP/s";

// Tokens of a frame of 168x126, 518x294 and 518x392 pixels.
constexpr std::array<int64_t, 3> kRows = {114, 783, 1042};
constexpr int64_t kFrameRows = 783;

// One product of a block of 1024 channels.
struct BlockProduct {
  int64_t in, out;
  LinearEpilogue epilogue;
};
constexpr std::array<BlockProduct, 4> kBlock = {{
    {1024, 3072, LinearEpilogue::kStore},
    {1024, 1024, LinearEpilogue::kAccumulate},
    {1024, 4096, LinearEpilogue::kGelu},
    {4096, 1024, LinearEpilogue::kAccumulate},
}};
// 4 blocks of bf16 weights are 100 MB: as in a whole frame, every product reads its weights from
// memory.
constexpr int kLayers = 4;

ops::LinearWeights RandomWeights(int64_t in, int64_t out, DType storage) {
  const Buffer weight = RandomBuffer(DType::kF32, {out, in});
  const Buffer bias = RandomBuffer(DType::kF32, {out});
  return {{weight.data<float>(), static_cast<size_t>(out * in)},
          {bias.data<float>(), static_cast<size_t>(out)},
          {},
          out,
          in,
          {.storage = storage}};
}

// Contexts that outlive the measured calls, with room for any product of a block.
ops::Context MakeContext(int threads, int64_t rows) {
  size_t workspace = 0;
  for (const BlockProduct& p : kBlock) {
    workspace = std::max(workspace,
                         ops::LinearWorkspaceBytes({.storage = DType::kBF16}, rows, p.in, p.out));
  }
  return ops::Context(threads, workspace);
}

// What ops::Linear in `storage` is compared with: the matrix library in the type that it computes
// in.
DType ComputeType(DType storage) { return ops::HasNativeBFloat16() ? storage : DType::kF32; }

const char* ShortName(DType dtype) { return dtype == DType::kBF16 ? "bf16" : "f32"; }

// The yardsticks: f32, and bf16 where it is native.
std::vector<DType> RawTypes() {
  if (ops::HasNativeBFloat16()) return {DType::kF32, DType::kBF16};
  return {DType::kF32};
}

struct Variant {
  bool raw;
  DType dtype;
};

std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const DType dtype : RawTypes()) variants.push_back({true, dtype});
  for (const DType dtype : {DType::kF32, DType::kBF16}) variants.push_back({false, dtype});
  return variants;
}

// Rows of all variants, whose calls were measured in turn.
void Report(RateRow row, double operations, const std::vector<Timing>& timings,
            const RateSink& sink) {
  const std::vector<Variant> variants = Variants();
  const auto raw_time = [&](DType dtype) {
    size_t i = 0;
    while (!variants[i].raw || variants[i].dtype != dtype) ++i;
    return timings[i].best;
  };
  row.unit = kUnit;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    row.variant = fmt::format("{} {}", variant.raw ? "oneDNN" : "Linear", ShortName(variant.dtype));
    row.share = variant.raw ? 0.0 : raw_time(ComputeType(variant.dtype)) / timings[i].best;
    sink(WithRate(row, operations, timings[i]));
  }
}

void BenchProduct(ops::Context& context, double seconds, int64_t rows, const BlockProduct& p,
                  const RateSink& sink) {
  const ProductShape shape{rows, p.in, p.out};
  const Buffer x = RandomBuffer(DType::kF32, {rows, p.in});
  const Buffer y(DType::kF32, {rows, p.out});
  std::vector<std::function<void()>> calls;
  for (const Variant& variant : Variants()) {
    if (variant.raw) {
      const WeightLayout layout = FastestLayout(context, shape, variant.dtype);
      calls.push_back(RawMatmul(context, shape, variant.dtype, layout));
      continue;
    }
    calls.push_back([&, weights = std::make_shared<ops::LinearWeights>(
                            RandomWeights(p.in, p.out, variant.dtype))] {
      ops::Linear(context, x.view(), *weights, LinearEpilogue::kStore, y.view());
    });
  }
  Report({"matmul", fmt::format("{} x {} -> {}", rows, p.in, p.out), "", "", 0, 0, 0},
         shape.operations(), MeasureInTurn(calls, seconds), sink);
}

// The products of kLayers blocks, one after the other, each with its own weights.
std::function<void()> RawLayers(ops::Context& context, DType dtype) {
  std::vector<WeightLayout> layouts;
  for (const BlockProduct& p : kBlock) {
    layouts.push_back(FastestLayout(context, {kFrameRows, p.in, p.out}, dtype));
  }
  std::vector<std::function<void()>> products;
  for (size_t i = 0; i < kLayers * kBlock.size(); ++i) {
    const size_t k = i % kBlock.size();
    products.push_back(
        RawMatmul(context, {kFrameRows, kBlock[k].in, kBlock[k].out}, dtype, layouts[k]));
  }
  return [products] {
    for (const auto& product : products) product();
  };
}

// The same through ops::Linear, with the epilogues of a block. Inputs stay as they are: chained
// products of random weights would overflow.
std::function<void()> LinearLayers(ops::Context& context, DType storage) {
  struct Layers {
    std::vector<ops::LinearWeights> weights;
    std::vector<Buffer> inputs, outputs;  // of the products of a block
  };
  auto layers = std::make_shared<Layers>();
  for (const BlockProduct& p : kBlock) {
    layers->inputs.push_back(RandomBuffer(DType::kF32, {kFrameRows, p.in}));
    layers->outputs.push_back(RandomBuffer(DType::kF32, {kFrameRows, p.out}));
  }
  for (int layer = 0; layer < kLayers; ++layer) {
    for (const BlockProduct& p : kBlock) {
      layers->weights.push_back(RandomWeights(p.in, p.out, storage));
    }
  }
  return [&context, layers] {
    for (size_t i = 0; i < layers->weights.size(); ++i) {
      const size_t k = i % kBlock.size();
      ops::Linear(context, layers->inputs[k].view(), layers->weights[i], kBlock[k].epilogue,
                  layers->outputs[k].view());
    }
  };
}

}  // namespace

void BenchMatmul(const OpsOptions& options, const RateSink& sink) {
  for (const int64_t rows : kRows) {
    ops::Context context = MakeContext(options.threads, rows);
    for (const BlockProduct& p : kBlock) BenchProduct(context, options.seconds, rows, p, sink);
  }
}

void BenchFrame(const OpsOptions& options, const RateSink& sink) {
  ops::Context context = MakeContext(options.threads, kFrameRows);
  std::vector<std::function<void()>> calls;
  for (const Variant& variant : Variants()) {
    calls.push_back(variant.raw ? RawLayers(context, variant.dtype)
                                : LinearLayers(context, variant.dtype));
  }
  double operations = 0.0;
  for (const BlockProduct& p : kBlock) {
    operations += kLayers * ProductShape{kFrameRows, p.in, p.out}.operations();
  }
  Report({"frame", fmt::format("linear layers of {} blocks, {} rows", kLayers, kFrameRows), "", "",
          0, 0, 0},
         operations, MeasureInTurn(calls, options.seconds), sink);
}

}  // namespace lingbot
