#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/cuda/attention_dense_check.h"
#include "ops/cuda/check.h"

namespace lingbot::ops::cuda::dense {
namespace {

struct Tally {
  int runs = 0;
  int failures = 0;
  double worst = 0.0;
};

class Checker {
 public:
  explicit Checker(int64_t pool_bytes)
      : k_(pool_bytes), v_(pool_bytes), workspace_(256 << 20), extents_(sizeof(DenseExtents)) {}

  Bf16* k() const { return k_.Get(); }
  Bf16* v() const { return v_.Get(); }
  void PoisonPool(int64_t elements) const {
    Poison(k_.Get(), 2 * elements);
    Poison(v_.Get(), 2 * elements);
  }

  // Runs what RunDense chooses, and every variant of this head_dim that the scores allow, unsplit
  // and with a number of splits that takes turns.
  void Check(const std::string& name, const Problem& problem, double tolerance) {
    MakeReference(problem);
    const bool no_max = !DenseNeedsRunningMax(problem.score_bound, problem.shape.kv_capacity);
    const DensePlan plan = PlanDense(problem.shape, Multiprocessors());
    CheckOne(name, "RunDense", problem, nullptr, plan, tolerance, &public_tally_);
    for (size_t i = 0; i < Variants().size(); ++i) {
      const Variant& variant = Variants()[i];
      if (variant.head_dim != problem.shape.head_dim) continue;
      if (variant.exponent != Exponent::kRunningMax && !no_max) continue;
      if (variant.exponent == Exponent::kUnit && problem.scale != kDensePrescaled) continue;
      for (const int splits : {1, 2 + cases_ % (kMaxSplits - 1)}) {
        const DensePlan forced = ForcedPlan(problem.shape, variant, splits);
        if (forced.workspace_bytes > workspace_.bytes()) continue;
        CheckOne(name, variant.name, problem, variant.launch, forced, tolerance, &tallies_[i]);
      }
    }
    ++cases_;
  }

  int cases() const { return cases_; }

  int Report() const {
    std::printf("%d cases\n%-28s %6s %8s %12s\n", cases_, "kernel", "runs", "failures",
                "worst rel L2");
    int failures = Print("RunDense", public_tally_);
    for (size_t i = 0; i < Variants().size(); ++i) {
      failures += Print(Variants()[i].name, tallies_[i]);
    }
    return failures;
  }

 private:
  static int Print(const std::string& name, const Tally& tally) {
    std::printf("%-28s %6d %8d %12.2e\n", name.c_str(), tally.runs, tally.failures, tally.worst);
    return tally.failures;
  }

  void MakeReference(const Problem& problem) {
    const DenseShape& shape = problem.shape;
    tokens_.clear();
    for (int token : {0, 1, 17, 63, 64, 127, 128, 200, shape.q_tokens / 2, shape.q_tokens - 1}) {
      if (token >= 0 && token < shape.q_tokens) tokens_.push_back(token);
    }
    std::sort(tokens_.begin(), tokens_.end());
    tokens_.erase(std::unique(tokens_.begin(), tokens_.end()), tokens_.end());
    reference_ = Reference(problem, tokens_);
  }

  // The output of one launch, its memory poisoned before.
  std::vector<Bf16> Launch(const Problem& problem, LaunchFunction launch, const DensePlan& plan) {
    const DenseShape& shape = problem.shape;
    DeviceBuffer out(size_t{2} * shape.batches * shape.q_tokens * shape.heads * shape.head_dim);
    Poison(out.Get(), out.bytes());
    Poison(workspace_.Get(), plan.workspace_bytes);
    DenseExtents extents;
    EncodeDenseExtents(plan, problem.row_stride, problem.batch_stride, problem.extents[0],
                       problem.extents[1], &extents);
    DenseInput input = InputOf(problem);
    if (cases_ % 2 == 0) {
      Copy(extents_.Get<DenseExtents>(), &extents, sizeof extents);
      input.device_extents = extents_.Get<DenseExtents>();
    } else {
      input.host_extents = &extents;
    }
    if (launch != nullptr) {
      RunWith(launch, plan, input, out.Get(), workspace_.Get<float>(), nullptr);
    } else {
      RunDense(plan, input, out.Get(), workspace_.Get<float>(), nullptr);
    }
    std::vector<Bf16> result(out.bytes() / 2);
    Copy(result.data(), out.Get(), out.bytes());
    return result;
  }

  void CheckOne(const std::string& name, const std::string& kernel, const Problem& problem,
                LaunchFunction launch, const DensePlan& plan, double tolerance, Tally* tally) {
    const std::vector<Bf16> out = Launch(problem, launch, plan);
    const std::vector<Bf16> again = Launch(problem, launch, plan);
    int64_t not_finite = 0;
    for (const Bf16& value : out) not_finite += !std::isfinite(__bfloat162float(value));
    const bool same = std::memcmp(out.data(), again.data(), out.size() * sizeof(Bf16)) == 0;
    const double error = RelativeL2(problem, out);
    ++tally->runs;
    if (not_finite == 0) tally->worst = std::max(tally->worst, error);
    if (not_finite == 0 && same && error <= tolerance) return;
    if (++tally->failures <= 6) {
      std::printf(
          "FAILED %s, %s, %d splits: relative L2 %.3e (at most %.1e), %lld values not finite%s\n",
          name.c_str(), kernel.c_str(), plan.splits, error, tolerance,
          static_cast<long long>(not_finite), same ? "" : ", differs between runs");
    }
  }

  double RelativeL2(const Problem& problem, const std::vector<Bf16>& out) const {
    const DenseShape& shape = problem.shape;
    double difference = 0.0;
    double norm = 0.0;
    for (int batch = 0; batch < shape.batches; ++batch) {
      for (int head = 0; head < shape.heads; ++head) {
        for (size_t i = 0; i < tokens_.size(); ++i) {
          const float* want =
              &reference_[((batch * int64_t{shape.heads} + head) * tokens_.size() + i) *
                          shape.head_dim];
          const Bf16* got =
              &out[((int64_t{batch} * shape.q_tokens + tokens_[i]) * shape.heads + head) *
                   shape.head_dim];
          for (int d = 0; d < shape.head_dim; ++d) {
            const double delta = __bfloat162float(got[d]) - want[d];
            difference += delta * delta;
            norm += double{want[d]} * want[d];
          }
        }
      }
    }
    const double result = std::sqrt(difference / norm);
    return std::isfinite(result) ? result : std::numeric_limits<double>::infinity();
  }

  DeviceBuffer k_, v_, workspace_, extents_;
  Tally public_tally_;
  std::vector<int> tokens_;
  std::vector<float> reference_;
  Tally tallies_[256];
  int cases_ = 0;
};

// ---- cases
// ------------------------------------------------------------------------------------------

struct Range {
  int64_t begin;
  int64_t rows;
};

struct Case {
  int head_dim;
  int heads;
  int q_tokens;
  Range extents[2];
  float q_scale = 1.0f;
  Fill fill = Fill::kNormal;
  float amplitude = 1.0f;
};

void RunGlobal(Checker& checker, const std::string& name, const Case& c) {
  const int width = c.heads * c.head_dim;
  const int64_t end =
      std::max(c.extents[0].begin + c.extents[0].rows, c.extents[1].begin + c.extents[1].rows);
  checker.PoisonPool((end + 300) * width);
  Problem problem;
  problem.shape = {1, c.q_tokens, c.heads, c.head_dim, c.extents[0].rows + c.extents[1].rows};
  problem.q_token_stride = 3 * width;
  problem.q_batch_stride = 0;
  problem.row_stride = width;
  problem.batch_stride = 0;
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  const bool prescaled = checker.cases() % 4 != 3;
  const float q_scale = prescaled ? c.q_scale * scale * kLog2E : c.q_scale;
  problem.scale = prescaled ? kDensePrescaled : scale;
  for (int i = 0; i < 2; ++i) {
    Bf16* k = checker.k() + c.extents[i].begin * width;
    Bf16* v = checker.v() + c.extents[i].begin * width;
    FillRows(k, c.extents[i].rows, width, width, 11 + i, c.amplitude, c.fill);
    FillRows(v, c.extents[i].rows, width, width, 23 + i, 1.0f);
    problem.extents[i] = {k, v, c.extents[i].rows};
  }
  DeviceBuffer qkv(size_t{2} * c.q_tokens * problem.q_token_stride);
  Poison(qkv.Get(), qkv.bytes());
  problem.q = qkv.Get();
  FillRows(qkv.Get(), c.q_tokens, width, problem.q_token_stride, 37, q_scale,
           c.fill == Fill::kNormal ? Fill::kNormal : Fill::kRays);
  // With rays both q and k are multiples of one vector: |q.k| <= head_dim * q_scale * amplitude. Of
  // normal scores none in 10^10 is expected beyond 6.5 standard deviations.
  problem.score_bound =
      kLog2E * c.q_scale * (c.fill == Fill::kNormal ? 6.5f : scale * c.head_dim * c.amplitude);
  // With a handful of rows there is no averaging: an output has a probability's and its own
  // rounding error, 2^-9 each.
  const double tolerance = problem.shape.kv_capacity < 8 ? 4e-3 : 3e-3;
  checker.Check(name, problem, tolerance);
}

// Frames of `tokens` rows that attend to themselves: q, k and v strided out of one activation.
void RunFrames(Checker& checker, int head_dim, int heads, int frames, int tokens) {
  const int width = heads * head_dim;
  DeviceBuffer qkv(size_t{2} * (frames * tokens + 200) * 3 * width);
  Poison(qkv.Get(), qkv.bytes());
  FillRows(qkv.Get(), int64_t{frames} * tokens, 3 * width, 3 * width, 5, 0.4f);
  Problem problem;
  problem.shape = {frames, tokens, heads, head_dim, tokens};
  problem.q_token_stride = problem.row_stride = 3 * width;
  problem.q_batch_stride = problem.batch_stride = int64_t{tokens} * 3 * width;
  problem.scale = kDensePrescaled;
  problem.q = qkv.Get();
  problem.extents[0] = {qkv.Get() + width, qkv.Get() + 2 * width, tokens};
  problem.score_bound = 40.0f;
  checker.Check("frames " + std::to_string(frames) + " x " + std::to_string(tokens), problem, 3e-3);
}

std::string Describe(const Case& c) {
  char text[160];
  std::snprintf(text, sizeof text,
                "head_dim %d, %d heads, q %d x%g, rows %lld+%lld, %lld+%lld, fill %d", c.head_dim,
                c.heads, c.q_tokens, c.q_scale, (long long)c.extents[0].begin,
                (long long)c.extents[0].rows, (long long)c.extents[1].begin,
                (long long)c.extents[1].rows, static_cast<int>(c.fill));
  return text;
}

// The extents that a page table makes: specials below the pages, one page missing.
void SweepPages(Checker& checker, int head_dim) {
  int turn = 0;
  for (const int page : {1, 7, 127, 128, 129, 256, 777, 972, 999, 1036, 1369}) {
    for (const int pages : {1, 2, 5, 73}) {
      for (const int specials : {0, 1, page + 1, 2 * page + (page + 1) / 2}) {
        for (const int hole : {-1, 0, pages / 2, pages - 1}) {
          ++turn;
          if (pages > 5 && turn % 3 != 0) continue;
          const int64_t base = 3 * page;
          const int64_t begin = base - specials;
          Case c = {head_dim, 2, 1 + turn * 37 % 300, {{begin, 0}, {base, 0}}};
          const int64_t end = base + int64_t{pages} * page;
          if (hole < 0) {
            c.extents[0].rows = end - begin;
          } else {
            c.extents[0].rows = base + int64_t{hole} * page - begin;
            c.extents[1] = {base + int64_t{hole + 1} * page, int64_t{pages - hole - 1} * page};
            if (c.extents[0].rows == 0) std::swap(c.extents[0], c.extents[1]);
          }
          if (c.extents[0].rows == 0) continue;
          RunGlobal(checker, Describe(c), c);
        }
      }
    }
  }
}

void SweepLengths(Checker& checker, int head_dim) {
  for (const int64_t kv : {1, 2, 15, 63, 64, 65, 95, 96, 97, 192, 193, 288, 16383, 16384, 98568}) {
    for (const int q : {1, 24, 262, 978}) {
      const int heads = kv > 20000 ? 4 : 3;
      Case c = {head_dim, heads, q, {{5, kv}, {0, 0}}};
      RunGlobal(checker, Describe(c), c);
      if (kv < 2) continue;
      c.extents[0].rows = kv / 2;
      c.extents[1] = {5 + kv, kv - kv / 2};
      RunGlobal(checker, Describe(c), c);
    }
  }
}

void SweepScores(Checker& checker, int head_dim) {
  for (const float q_scale : {1.0f, 4.0f, 16.0f}) {
    Case c = {head_dim, 16, 978, {{0, 6000}, {7000, 9000}}, q_scale};
    RunGlobal(checker, Describe(c), c);
  }
  // log2(e) / sqrt(d) * d * q_scale * amplitude = 105, which with 2^14 rows stays just below 120;
  // then 120 + 14, where sums of equal scores leave float32's range, then far above.
  const float at_bound = 105.0f / (kLog2E * std::sqrt(static_cast<float>(head_dim)));
  for (const Fill fill : {Fill::kRays, Fill::kNegative, Fill::kGrowing, Fill::kEqual}) {
    for (const float factor : {1.0f, 120.0f / 105.0f, 30.0f}) {
      Case c = {head_dim, 3, 300, {{0, 10000}, {10500, 6384}}, at_bound * factor, fill};
      RunGlobal(checker, Describe(c), c);
    }
  }
}

// A captured launch must follow extents that are rewritten in device memory, to the bit.
int CheckGraph() {
  constexpr int kWidth = 2 * 64;
  const DenseShape shape = {1, 300, 2, 64, 6000};
  const DensePlan plan = PlanDense(shape, Multiprocessors());
  DeviceBuffer q(2 * 300 * kWidth), k(2 * 7000 * kWidth), v(2 * 7000 * kWidth);
  DeviceBuffer out(q.bytes()), workspace(plan.workspace_bytes), extents(sizeof(DenseExtents));
  FillRows(q.Get(), 300, kWidth, kWidth, 1, 0.2f);
  FillRows(k.Get(), 7000, kWidth, kWidth, 2, 1.0f);
  FillRows(v.Get(), 7000, kWidth, kWidth, 3, 1.0f);
  DenseInput input;
  input.q = q.Get();
  input.q_token_stride = kWidth;
  input.scale = kDensePrescaled;
  input.device_extents = extents.Get<DenseExtents>();
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CheckCuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  RunDense(plan, input, out.Get(), workspace.Get<float>(), stream);
  CheckCuda(cudaStreamEndCapture(stream, &graph), "capture");
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  int failures = 0;
  for (const auto& [first, second] : {std::pair{1, 0}, {977, 3}, {5000, 1000}, {1, 5999}}) {
    DenseExtents maps;
    EncodeDenseExtents(plan, kWidth, 0, {k.Get(), v.Get(), first},
                       {k.Get() + 6500 * kWidth - second * kWidth,
                        v.Get() + 6500 * kWidth - second * kWidth, second},
                       &maps);
    std::vector<Bf16> results[2];
    for (const bool replay : {true, false}) {
      Poison(out.Get(), out.bytes());
      if (replay) {
        Copy(extents.Get<DenseExtents>(), &maps, sizeof maps);
        CheckCuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
        CheckCuda(cudaStreamSynchronize(stream), "replay");
      } else {
        DenseInput direct = input;
        direct.device_extents = nullptr;
        direct.host_extents = &maps;
        RunDense(plan, direct, out.Get(), workspace.Get<float>(), nullptr);
      }
      results[replay].resize(out.bytes() / 2);
      Copy(results[replay].data(), out.Get(), out.bytes());
    }
    const bool same = std::memcmp(results[0].data(), results[1].data(), out.bytes()) == 0;
    if (!same) std::printf("FAILED graph replay with %d and %d rows\n", first, second);
    failures += !same;
  }
  std::printf("graph replays: %d failures\n", failures);
  return failures;
}

}  // namespace

int Sweep() {
  Checker checker(size_t{2} * 102000 * 16 * 128);
  for (const int head_dim : {64, 128}) {
    SweepLengths(checker, head_dim);
    SweepScores(checker, head_dim);
    SweepPages(checker, head_dim);
    RunFrames(checker, head_dim, 16, 1, 978);
    RunFrames(checker, head_dim, 16, 8, 978);
    RunFrames(checker, head_dim, 2, 3, 262);
    RunFrames(checker, head_dim, 2, 9, 30);
    RunFrames(checker, head_dim, 16, 1, 7824);
  }
  const int failures = checker.Report();
  return failures + CheckGraph();
}

}  // namespace lingbot::ops::cuda::dense
