// Rates of the attention back ends at the model's sizes, and the multiply-add rate of the processor
// to compare them with: attention_bench --benchmark_filter='Peak|cpu'

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "bench/multiply_add.h"
#include "ops/attention.h"
#include "tensor/buffer.h"

namespace lingbot::ops {
namespace {

// Per second of processor time, so that a machine shared with others measures the same.
void SetRate(benchmark::State& state, double operations) {
  state.counters["GFLOP/s/core"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void Peak(benchmark::State& state) {
  const ThreadTeam team(static_cast<int>(state.range(0)));
  std::vector<float> results(team.size() * 16, 1.0f);
  int64_t operations = 0;
  for (auto unused : state) {
    team.ForEach(team.size(), [&](int64_t i) {
      const int64_t count = MultiplyAdds(20'000'000, &results[i * 16]);
      if (i == 0) operations = count;
    });
  }
  benchmark::DoNotOptimize(results.data());
  SetRate(state, static_cast<double>(operations) * team.size());
}
BENCHMARK(Peak)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

Buffer RandomBuffer(DType dtype, const Shape& shape) {
  Buffer buffer(dtype, shape);
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(-1.7f, 1.7f);
  std::vector<float> values(shape.elements());
  for (float& value : values) value = uniform(generator);
  if (dtype == DType::kF32) {
    std::ranges::copy(values, buffer.data<float>());
  } else {
    std::ranges::transform(values, buffer.data<BFloat16>(), ToBFloat16);
  }
  return buffer;
}

struct Case {
  const char* name;
  AttentionBackend backend;
  DType dtype;
  int64_t tokens;
  int64_t page_size;
  int64_t pages;  // 0: dense, inside a tensor [page_size, 3, heads, head_dim]
  int64_t heads = 16;
  int64_t head_dim = 64;
};

void RunDense(Context& context, const Case& c, const TensorView& qkv, const TensorView& out) {
  const auto part = [&](int64_t index) {
    return TensorView(qkv.data<float>() + index * c.heads * c.head_dim, DType::kF32,
                      {c.page_size, c.heads, c.head_dim},
                      {3 * c.heads * c.head_dim, c.head_dim, 1});
  };
  DenseAttention(context, c.backend, part(0), part(1), part(2), out);
}

void Attention(benchmark::State& state, const Case& c) {
  const int threads = 2;
  const int64_t kv_tokens = c.page_size * std::max<int64_t>(c.pages, 1);
  Context context(threads, AttentionWorkspaceBytes(c.backend, threads, c.tokens, kv_tokens, c.heads,
                                                   c.head_dim));
  const Buffer q = RandomBuffer(DType::kF32, {c.tokens, c.heads, c.head_dim});
  const Buffer out(DType::kF32, {c.tokens, c.heads, c.head_dim});
  const Buffer kv = c.pages == 0 ? RandomBuffer(DType::kF32, {c.page_size, 3, c.heads, c.head_dim})
                                 : RandomBuffer(c.dtype, {2, kv_tokens, c.heads, c.head_dim});
  std::vector<int32_t> pages(c.pages);
  for (int64_t i = 0; i < c.pages; ++i) pages[i] = static_cast<int32_t>(i);
  const TensorView both = kv.view();
  const PagedKvView view{both.raw(),
                         static_cast<const std::byte*>(both.raw()) + kv.bytes() / 2,
                         c.dtype,
                         c.page_size * c.heads * c.head_dim,
                         c.heads * c.head_dim,
                         c.head_dim,
                         c.page_size,
                         pages,
                         c.page_size};
  for (auto unused : state) {
    if (c.pages == 0) {
      RunDense(context, c, both, out.view());
    } else {
      PagedAttention(context, c.backend, q.view(), view, kUnbounded, out.view());
    }
  }
  SetRate(state, 4.0 * c.tokens * kv_tokens * c.heads * c.head_dim);
}

const Case kCases[] = {
    {"cpu/frame/783", AttentionBackend::kCpu, DType::kF32, 783, 783, 0},
    {"cpu/paged/783x12528/f32", AttentionBackend::kCpu, DType::kF32, 783, 783, 16},
    {"cpu/paged/783x12528/bf16", AttentionBackend::kCpu, DType::kBF16, 783, 783, 16},
    {"cpu/paged/783x56376/f32", AttentionBackend::kCpu, DType::kF32, 783, 783, 72},
    {"cpu/paged/783x56376/bf16", AttentionBackend::kCpu, DType::kBF16, 783, 783, 72},
    {"cpu/camera/1x1024", AttentionBackend::kCpu, DType::kF32, 1, 1024, 1, 16, 128},
    {"sdpa/frame/783", AttentionBackend::kSdpa, DType::kF32, 783, 783, 0},
    {"sdpa/paged/783x12528/f32", AttentionBackend::kSdpa, DType::kF32, 783, 783, 16},
    {"reference/frame/783", AttentionBackend::kReference, DType::kF32, 783, 783, 0},
};

}  // namespace
}  // namespace lingbot::ops

int main(int argc, char** argv) {
  for (const auto& c : lingbot::ops::kCases) {
    benchmark::RegisterBenchmark(
        c.name, [&c](benchmark::State& state) { lingbot::ops::Attention(state, c); })
        ->MeasureProcessCPUTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
