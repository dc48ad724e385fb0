// Sweeps the CUDA attention back ends against a plain twin, then times them. One line a case; exit
// status 1 if any is wrong.
//   attention_check [--quick] [--no-sweep] [--no-timing]

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "attention_scene.h"
#include "attention_timing.h"
#include "lingbot/error.h"
#include "ops/cuda/attention_entry.h"
#include "ops/cuda/attention_fa2.h"
#include "ops/cuda/attention_fa3.h"
#include "ops/cuda/attention_sdpa.h"
#include "ops/cuda/check.h"

namespace lingbot::bench {
namespace {

using namespace ops::cuda;             // the subject of this program
using namespace ops::cuda::reference;  // and its judge

constexpr int kMaxQuery = 7824;
constexpr int kSamples = 12;
constexpr int kRepeats = 2;

struct Tolerance {
  double relative_l2;
  double worst;
};
// bf16 inputs are the same on both sides: what remains is P and the result rounded to 8 bits.
Tolerance ToleranceFor(DType dtype) {
  return dtype == DType::kF32 ? Tolerance{2e-5, 1e-4} : Tolerance{6e-3, 3e-2};
}

class Report {
 public:
  void Add(const std::string& what, const Errors& errors, Tolerance tolerance, bool same_bits) {
    const bool good = errors.finite && errors.relative_l2 < tolerance.relative_l2 &&
                      errors.worst < tolerance.worst && same_bits;
    fmt::print("{} {} l2 {:.2e} worst {:.2e}{}{}{}\n", good ? "ok " : "BAD", what,
               errors.relative_l2, errors.worst,
               good ? "" : fmt::format(" at row {} head {}", errors.worst_row, errors.worst_head),
               errors.finite ? "" : " NOT FINITE", same_bits ? "" : " BITS DIFFER");
    Count(good);
  }
  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  void Count(bool good) { ++(good ? passed_ : failed_); }
  int passed_ = 0;
  int failed_ = 0;
};

// Objects live as long as the sweep, sized for the largest problem, as a session would hold them.
template <typename Paged>
Paged& Shared(int heads, int head_dim) {
  static std::map<std::pair<int, int>, std::unique_ptr<Paged>> all;
  auto& one = all[{heads, head_dim}];
  if (!one) one = std::make_unique<Paged>(PagedLimits{kMaxQuery, heads, head_dim});
  return *one;
}

struct Context {
  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
  Report report;
  uint64_t seed = 1;
};

using Launch = std::function<void(const Scene&)>;

// Runs, judges, runs again and compares bits.
void CheckScene(Context& context, const char* name, const Case& wanted, const Launch& launch) {
  const Scene scene(wanted, context.seed++, context.stream);
  scene.PoisonOut(context.stream);
  launch(scene);
  const Errors errors = Judge(scene.problem(), scene.out(),
                              SampleRows(wanted.q_tokens, kSamples, context.seed), context.stream);
  const DeviceBytes first(scene.out_bytes());
  CheckCuda(cudaMemcpyAsync(first.data(), scene.out(), scene.out_bytes(), cudaMemcpyDeviceToDevice,
                            context.stream),
            "cudaMemcpyAsync");
  bool same = true;
  for (int i = 0; i < kRepeats; ++i) {
    scene.PoisonOut(context.stream);
    launch(scene);
    same = same && SameBytes(first.data(), scene.out(), scene.out_bytes(), context.stream);
  }
  context.report.Add(fmt::format("{:<14} {}", name, wanted.ToString()), errors,
                     ToleranceFor(wanted.dtype), same);
}

template <typename Paged>
void CheckPaged(Context& context, const char* name, const Case& wanted) {
  CheckScene(context, name, wanted, [&](const Scene& scene) {
    Paged& paged = Shared<Paged>(wanted.heads, wanted.head_dim);
    paged.Plan(scene.step());
    paged.Upload(context.stream);
    paged.Run(scene.call(), context.stream);
  });
}

void CheckSdpa(Context& context, const Case& wanted) {
  const SdpaType type{wanted.dtype, wanted.heads, wanted.head_dim};
  const size_t bytes = SdpaPagedWorkspace(type, wanted.q_tokens, wanted.kv_tokens());
  const DeviceBytes workspace(bytes);
  Poison(workspace.data(), bytes, context.stream);
  CheckScene(context, "sdpa", wanted, [&](const Scene& scene) {
    SdpaPaged(context.blas, type, scene.step(), scene.call(), workspace.data(), bytes,
              context.stream);
  });
}

void CheckAll(Context& context, const Case& wanted) {
  if (wanted.dtype == DType::kBF16 && (wanted.head_dim == 64 || wanted.head_dim == 128)) {
    if (Fa2Built() && Fa2Supported()) CheckPaged<Fa2Paged>(context, "flashinfer", wanted);
    if (Fa3Built() && Fa3Supported()) CheckPaged<Fa3Paged>(context, "flashinfer-fa3", wanted);
  }
  CheckSdpa(context, wanted);
}

// Every page size, every layout, both head sizes; pages, specials and queries vary along.
std::vector<Case> SweepCases(bool quick) {
  std::vector<Case> cases;
  const int page_counts[] = {1, 2, 3, 8, 9, 16, 40, 73};
  const int queries[] = {1, 30, 84, 262, 978, 1005};
  size_t turn = 0;
  for (const int page : {1, 7, 127, 128, 129, 256, 777, 972, 999, 1036, 1369}) {
    for (const int head_dim : {64, 128}) {
      for (const Layout layout :
           {Layout::kPlanes, Layout::kScatteredPlanes, Layout::kInterleaved}) {
        for (int specials = 0; specials < 4; ++specials) {
          if (quick && turn % 5 != 0) {
            ++turn;
            continue;
          }
          Case one;
          one.layout = layout;
          one.heads = turn % 3 == 0 ? 16 : 2;
          one.head_dim = head_dim;
          one.q_tokens = queries[turn % 6];
          one.page_size = page;
          one.patch_pages = page_counts[turn % 8];
          // none, a partial page, a full page, two pages and a partial third
          const int tails[] = {0, (page + 1) / 2, page, 2 * page + page / 3 + 1};
          one.special_tokens = std::min(tails[specials], 3 * page);
          cases.push_back(one);
          ++turn;
        }
      }
    }
  }
  return cases;
}

std::vector<Case> LongCases() {
  std::vector<Case> cases;
  for (const int head_dim : {64, 128}) {
    for (const int64_t kv : {16383, 16384, 98568}) {
      for (const int q : {1, 84, 978, 7824}) {
        for (const int page : {256, 972, 1369}) {
          Case one;
          one.layout = page == 972 ? Layout::kPlanes : Layout::kInterleaved;
          one.heads = 16;
          one.head_dim = head_dim;
          one.q_tokens = q;
          one.page_size = page;
          one.patch_pages = static_cast<int>(std::min<int64_t>(73, kv / page));
          one.special_tokens = static_cast<int>(kv - int64_t{one.patch_pages} * page);
          if (q != 7824 || page == 972) cases.push_back(one);
        }
      }
    }
  }
  return cases;
}

// What only sdpa serves: float32, other head sizes, and single-precision accuracy over long rows.
std::vector<Case> SdpaCases() {
  std::vector<Case> cases;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int head_dim : {8, 24, 32, 64, 72, 128, 256}) {
      for (const int q : {1, 30, 262}) {
        cases.push_back({Layout::kScatteredPlanes, dtype, 2, head_dim, q, 24, 9, 37, 2.0f});
      }
    }
    cases.push_back({Layout::kPlanes, dtype, 16, 64, 978, 972, 72, 2400, 2.0f});
    cases.push_back({Layout::kInterleaved, dtype, 16, 64, 84, 7, 3, 1, 2.0f});
  }
  return cases;
}

// ---- frames that attend to themselves, inside one activation [rows, 3, heads, head_dim] ----

struct FrameCase {
  DType dtype;
  int frames, tokens, heads, head_dim;
};

void CheckFrames(Context& context, const char* name, const FrameCase& one,
                 const std::function<void(const FrameCall&)>& launch) {
  const int64_t row = int64_t{one.heads} * one.head_dim;
  const size_t element = SizeOf(one.dtype);
  const int64_t rows = int64_t{one.frames} * one.tokens;
  const DeviceBytes activation(rows * 3 * row * element);
  const DeviceBytes out(rows * row * element);
  const DeviceBytes pages(sizeof(int32_t));
  CheckCuda(cudaMemsetAsync(pages.data(), 0, sizeof(int32_t), context.stream), "cudaMemsetAsync");
  FillNormal(static_cast<int>(element), activation.data(), rows * 3 * row, context.seed++, 1.5f,
             context.stream);
  Poison(out.data(), rows * row * element, context.stream);
  const auto* base = static_cast<const char*>(activation.data());
  launch({base, base + row * element, base + 2 * row * element, 3 * row, out.data()});
  for (const int frame : {0, one.frames - 1}) {
    const size_t offset = static_cast<size_t>(frame) * one.tokens * row * element;
    Problem problem{static_cast<int>(element),
                    one.heads,
                    one.head_dim,
                    one.tokens,
                    one.tokens,
                    one.tokens,
                    base + 3 * offset,
                    3 * row,
                    {base + 3 * offset + row * element, base + 3 * offset + 2 * row * element,
                     3 * row, 3 * row, static_cast<const int32_t*>(pages.data())}};
    const Errors errors = Judge(problem, static_cast<const char*>(out.data()) + offset,
                                SampleRows(one.tokens, kSamples, context.seed), context.stream);
    context.report.Add(
        fmt::format("{:<14} frames {} of {} tokens, {}x{} {}: frame {}", name, one.frames,
                    one.tokens, one.heads, one.head_dim, NameOf(one.dtype), frame),
        errors, ToleranceFor(one.dtype), true);
  }
}

template <typename Frames>
void CheckFlashInferFrames(Context& context, const char* name, const FrameCase& one) {
  const Frames frames({one.frames, one.tokens, one.heads, one.head_dim});
  CheckFrames(context, name, one, [&](const FrameCall& call) { frames.Run(call, context.stream); });
}

void CheckSdpaFrames(Context& context, const FrameCase& one) {
  const SdpaType type{one.dtype, one.heads, one.head_dim};
  const size_t bytes = SdpaFramesWorkspace(type, one.tokens);
  const DeviceBytes workspace(bytes);
  CheckFrames(context, "sdpa", one, [&](const FrameCall& call) {
    SdpaFrames(context.blas, type, one.frames, one.tokens, call, workspace.data(), bytes,
               context.stream);
  });
}

void CheckAllFrames(Context& context) {
  for (const int head_dim : {64, 128}) {
    for (const auto& [frames, tokens, heads] : {std::tuple{1, 1, 2},
                                                {1, 30, 2},
                                                {3, 84, 2},
                                                {8, 262, 16},
                                                {1, 978, 16},
                                                {8, 978, 16},
                                                {1, 7824, 16},
                                                {2, 1005, 3}}) {
      const FrameCase one{DType::kBF16, frames, tokens, heads, head_dim};
      if (Fa2Built() && Fa2Supported()) {
        CheckFlashInferFrames<Fa2Frames>(context, "flashinfer", one);
      }
      if (Fa3Built() && Fa3Supported()) {
        CheckFlashInferFrames<Fa3Frames>(context, "flashinfer-fa3", one);
      }
      CheckSdpaFrames(context, one);
      CheckSdpaFrames(context, {DType::kF32, frames, tokens, heads, head_dim});
    }
  }
}

// ---- a captured graph serves all steps of equal signature ----

template <typename Paged>
void CheckGraph(Context& context, const char* name) {
  Paged paged({978, 16, 64});
  Case small{Layout::kPlanes, DType::kBF16, 16, 64, 978, 972, 20, 120, 2.0f};
  Case large = small;
  large.patch_pages = 72;
  large.special_tokens = 2400;
  // One scene large enough for both: the small step sees only the first pages of its list.
  const Scene scene(large, context.seed++, context.stream);
  Problem problem = scene.problem();
  PagedStep step{978, 972, 20, 20 * 972};
  paged.Plan(step);
  paged.Upload(context.stream);
  const uint64_t captured = paged.signature();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CheckCuda(cudaStreamBeginCapture(context.stream, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
  paged.Run(scene.call(), context.stream);
  CheckCuda(cudaStreamEndCapture(context.stream, &graph), "cudaStreamEndCapture");
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (const int pages : {20, 21, 50, 72, 33}) {
    step.pages = pages;
    step.kv_tokens = int64_t{pages} * 972 - (pages % 2 == 0 ? 0 : 431);
    paged.Plan(step);
    paged.Upload(context.stream);
    scene.PoisonOut(context.stream);
    CheckCuda(cudaGraphLaunch(executable, context.stream), "cudaGraphLaunch");
    problem.kv_tokens = step.kv_tokens;
    const Errors errors =
        Judge(problem, scene.out(), SampleRows(978, kSamples, context.seed), context.stream);
    context.report.Add(
        fmt::format("{:<14} graph replayed at {} pages, kv {}", name, pages, step.kv_tokens),
        errors, ToleranceFor(DType::kBF16), paged.signature() == captured);
  }
  CheckCuda(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  CheckCuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

// ---- the host runs ahead: plans must not overtake the uploads of earlier ones ----

template <typename Paged>
void CheckRunningAhead(Context& context, const char* name) {
  constexpr int kSteps = 24;
  const Case wanted{Layout::kPlanes, DType::kBF16, 16, 64, 978, 972, 72, 2400, 2.0f};
  const Scene scene(wanted, context.seed++, context.stream);
  Paged paged({978, 16, 64});
  const DeviceBytes outs(kSteps * scene.out_bytes());
  Poison(outs.data(), kSteps * scene.out_bytes(), context.stream);
  std::vector<PagedCall> calls(kSteps, scene.call());
  std::vector<PagedStep> steps(kSteps, scene.step());
  for (int i = 0; i < kSteps; ++i) {
    steps[i].pages = 20 + (i * 37) % 52;
    steps[i].kv_tokens = int64_t{steps[i].pages} * 972 - i * 40;
    calls[i].out = static_cast<char*>(outs.data()) + i * scene.out_bytes();
    paged.Plan(steps[i]);
    paged.Upload(context.stream);
    paged.Run(calls[i], context.stream);
  }
  for (int i = 0; i < kSteps; ++i) {
    Problem problem = scene.problem();
    problem.kv_tokens = steps[i].kv_tokens;
    const Errors errors =
        Judge(problem, calls[i].out, SampleRows(978, 4, context.seed + i), context.stream);
    context.report.Add(
        fmt::format("{:<14} without waiting, step {} kv {}", name, i, steps[i].kv_tokens), errors,
        ToleranceFor(DType::kBF16), true);
  }
}

// ---- the camera head's attention ----

void CheckEntry(Context& context, int rows, int heads, int head_dim, int capacity, int count) {
  const int64_t row = int64_t{heads} * head_dim;
  const int64_t entry = 3 * row;  // as entries lie in a cache that holds more beside them
  const DeviceBytes q(rows * row * 4), k(capacity * entry * 4), v(capacity * entry * 4);
  const DeviceBytes out(rows * row * 4), first(rows * row * 4), device_count(4);
  const DeviceBytes pages(capacity * 4);
  std::vector<int32_t> order(capacity);
  for (int i = 0; i < capacity; ++i) order[i] = i;
  CheckCuda(cudaMemcpyAsync(pages.data(), order.data(), capacity * 4, cudaMemcpyHostToDevice,
                            context.stream),
            "cudaMemcpyAsync");
  CheckCuda(cudaMemcpyAsync(device_count.data(), &count, 4, cudaMemcpyHostToDevice, context.stream),
            "cudaMemcpyAsync");
  Poison(k.data(), capacity * entry * 4, context.stream);
  Poison(v.data(), capacity * entry * 4, context.stream);
  const auto* page_list = static_cast<const int32_t*>(pages.data());
  const Problem problem{4,        heads, head_dim,
                        rows,     1,     count,
                        q.data(), row,   {k.data(), v.data(), entry, entry, page_list}};
  FillProblem(problem, context.seed++, 2.0f, context.stream);
  const EntryShape shape{rows, heads, head_dim, capacity};
  const DeviceBytes workspace(EntryWorkspace(shape));
  ClearEntryWorkspace(shape, workspace.data(), context.stream);
  const EntryCall call{
      static_cast<const float*>(q.data()), row,   static_cast<const float*>(k.data()),
      static_cast<const float*>(v.data()), entry, static_cast<const int32_t*>(device_count.data()),
      static_cast<float*>(out.data())};
  bool same = true;
  for (int i = 0; i <= kRepeats; ++i) {
    Poison(out.data(), rows * row * 4, context.stream);
    EntryAttention(shape, call, workspace.data(), context.stream);
    if (i == 0) {
      CheckCuda(cudaMemcpyAsync(first.data(), out.data(), rows * row * 4, cudaMemcpyDeviceToDevice,
                                context.stream),
                "cudaMemcpyAsync");
    } else {
      same = same && SameBytes(first.data(), out.data(), rows * row * 4, context.stream);
    }
  }
  const Errors errors =
      Judge(problem, out.data(), SampleRows(rows, kSamples, context.seed), context.stream);
  context.report.Add(fmt::format("entry          {} rows {}x{} capacity {} count {}", rows, heads,
                                 head_dim, capacity, count),
                     errors, ToleranceFor(DType::kF32), same);
}

void CheckAllEntries(Context& context) {
  for (const int rows : {1, 2, 8, 16}) {
    for (const int count : {1, 2, 8, 9, 127, 1024, 1031}) {
      CheckEntry(context, rows, 16, 128, 1032, count);
    }
    CheckEntry(context, rows, 2, 128, 20, 13);
    CheckEntry(context, rows, 3, 36, 64, 40);
    CheckEntry(context, rows, 2, 256, 300, 299);
  }
}

void Sweep(Context& context, bool quick) {
  for (const Case& one : SweepCases(quick)) CheckAll(context, one);
  for (const Case& one : SdpaCases()) CheckSdpa(context, one);
  CheckAllFrames(context);
  CheckAllEntries(context);
  if (Fa2Built() && Fa2Supported()) {
    CheckGraph<Fa2Paged>(context, "flashinfer");
    CheckRunningAhead<Fa2Paged>(context, "flashinfer");
  }
  if (Fa3Built() && Fa3Supported()) {
    CheckGraph<Fa3Paged>(context, "flashinfer-fa3");
    CheckRunningAhead<Fa3Paged>(context, "flashinfer-fa3");
  }
  if (!quick) {
    for (const Case& one : LongCases()) CheckAll(context, one);
  }
}

int Main(int argc, char** argv) {
  bool quick = false, sweep = true, timing = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else if (std::strcmp(argv[i], "--no-sweep") == 0) {
      sweep = false;
    } else if (std::strcmp(argv[i], "--no-timing") == 0) {
      timing = false;
    } else {
      fmt::print(stderr, "usage: attention_check [--quick] [--no-sweep] [--no-timing]\n");
      return 2;
    }
  }
  Context context;
  CheckCuda(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking),
            "cudaStreamCreateWithFlags");
  if (cublasCreate(&context.blas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(context.blas, context.stream) != CUBLAS_STATUS_SUCCESS) {
    FailLibrary("cuBLAS", "no handle");
  }
  if (sweep) Sweep(context, quick);
  if (timing) TimeAttention(context.stream, context.blas);
  fmt::print("{} passed, {} failed\n", context.report.passed(), context.report.failed());
  return context.report.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lingbot::bench

int main(int argc, char** argv) {
  try {
    return lingbot::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "attention_check: {}\n", error.what());
    return 1;
  }
}
