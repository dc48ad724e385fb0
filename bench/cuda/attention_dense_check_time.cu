#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/cuda/attention_dense_check.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda::dense {
namespace {

struct Scenario {
  const char* name;
  int head_dim;
  int heads;
  int batches;
  int q_tokens;
  int64_t kv;
  int layers;  // distinct K and V, so that the cache does not flatter
};

class Timer {
 public:
  Timer() {
    CheckCuda(cudaEventCreate(&begin_), "cudaEventCreate");
    CheckCuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  float Milliseconds(const std::function<void()>& work) {
    CheckCuda(cudaEventRecord(begin_), "record");
    work();
    CheckCuda(cudaEventRecord(end_), "record");
    CheckCuda(cudaEventSynchronize(end_), "synchronize");
    float result = 0.0f;
    CheckCuda(cudaEventElapsedTime(&result, begin_, end_), "elapsed");
    return result;
  }

 private:
  cudaEvent_t begin_, end_;
};

struct Candidate {
  std::string name;
  std::function<void()> frame;  // all layers
  std::vector<float> paced;
  std::vector<float> sustained;
};

float Median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void TimeScenario(const Scenario& s, const DeviceBuffer& pool, const DeviceBuffer& workspace) {
  const int width = s.heads * s.head_dim;
  const int64_t plane = s.kv * s.batches * width;
  const DenseShape shape = {s.batches, s.q_tokens, s.heads, s.head_dim, s.kv};
  const int64_t q_rows = int64_t{s.batches} * s.q_tokens;
  DeviceBuffer q(size_t{2} * q_rows * 3 * width), out(size_t{2} * q_rows * width);
  FillRows(q.Get(), q_rows, 3 * width, 3 * width, 3, 1.0f);
  std::vector<Candidate> candidates;
  std::vector<std::vector<DenseExtents>> extents;  // must outlive the candidates
  extents.reserve(64);
  for (const Variant& variant : Variants()) {
    if (variant.head_dim != s.head_dim) continue;
    const int chosen = PlanDense(shape, Multiprocessors()).splits;
    std::vector<int> choices = {chosen};
    if (variant.launch == FindLaunch(s.head_dim, variant.exponent)) choices = {1, 5};
    if (std::find(choices.begin(), choices.end(), chosen) == choices.end())
      choices.push_back(chosen);
    if (s.batches * s.q_tokens > 4000) choices = {chosen};
    for (const int splits : choices) {
      const DensePlan plan = ForcedPlan(shape, variant, splits);
      extents.emplace_back(s.layers);
      for (int layer = 0; layer < s.layers; ++layer) {
        const Bf16* k = pool.Get() + 2 * layer * plane;
        EncodeDenseExtents(plan, width, s.kv * width, {k, k + plane, s.kv}, {},
                           &extents.back()[layer]);
      }
      const std::vector<DenseExtents>* maps = &extents.back();
      auto frame = [&, plan, variant, maps] {
        for (const DenseExtents& layer : *maps) {
          DenseInput input;
          input.q = q.Get();
          input.q_token_stride = 3 * width;
          input.q_batch_stride = s.q_tokens * int64_t{3} * width;
          input.scale = variant.exponent == Exponent::kUnit
                            ? kDensePrescaled
                            : 1.0f / std::sqrt(static_cast<float>(s.head_dim));
          input.host_extents = &layer;
          RunWith(variant.launch, plan, input, out.Get(), workspace.Get<float>(), nullptr);
        }
      };
      candidates.push_back(
          {variant.name + ", " + std::to_string(splits) + (splits == chosen ? " *" : ""),
           frame,
           {},
           {}});
    }
  }
  Timer timer;
  for (Candidate& candidate : candidates) candidate.frame();
  CheckCuda(cudaDeviceSynchronize(), "warm up");
  for (int round = 0; round < 4; ++round) {
    for (Candidate& candidate : candidates) {
      usleep(20000);
      candidate.paced.push_back(timer.Milliseconds(candidate.frame) / s.layers);
    }
  }
  for (int round = 0; round < 5; ++round) {
    for (Candidate& candidate : candidates) {
      candidate.sustained.push_back(timer.Milliseconds([&] {
        candidate.frame();
        candidate.frame();
      }) / (2 * s.layers));
    }
  }
  const double flop = 4.0 * s.batches * s.q_tokens * s.kv * width;
  std::printf("%s\n%-44s %8s %7s %9s %7s\n", s.name, "  kernel, splits (* the planner's)",
              "paced ms", "TFLOP/s", "sustained", "TFLOP/s");
  for (const Candidate& candidate : candidates) {
    const float paced = Median(candidate.paced);
    const float sustained = Median(candidate.sustained);
    std::printf("  %-42s %8.4f %7.0f %9.4f %7.0f\n", candidate.name.c_str(), paced,
                flop / paced * 1e-9, sustained, flop / sustained * 1e-9);
  }
}

}  // namespace

void Time() {
  const Scenario scenarios[] = {
      {"global, full window", 64, 16, 1, 978, 72400, 24},
      {"global, 126x168 and specials", 64, 16, 1, 262, 19588, 24},
      {"global, young stream", 64, 16, 1, 978, 8000, 24},
      {"scale step, 8 frames together", 64, 16, 1, 7824, 7824, 12},
      {"in-frame, 1 frame", 64, 16, 1, 978, 978, 24},
      {"in-frame, 8 frames", 64, 16, 8, 978, 978, 12},
      {"global, head_dim 128", 128, 8, 1, 978, 72400, 24},
  };
  const DeviceBuffer pool(size_t{4} * 24 * 72400 * 1024);
  const DeviceBuffer workspace(256 << 20);
  FillRows(pool.Get(), pool.bytes() / 2048, 1024, 1024, 7, 1.0f);
  for (const Scenario& scenario : scenarios) TimeScenario(scenario, pool, workspace);
}

}  // namespace lingbot::ops::cuda::dense
