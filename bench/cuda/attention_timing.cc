#include "attention_timing.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "attention_scene.h"
#include "ops/cuda/attention_entry.h"
#include "ops/cuda/attention_fa2.h"
#include "ops/cuda/attention_fa3.h"
#include "ops/cuda/attention_sdpa.h"
#include "ops/cuda/check.h"

namespace lingbot::bench {
namespace {

using namespace ops::cuda;             // the subject of this program
using namespace ops::cuda::reference;  // and its judge

constexpr int kRounds = 9;
constexpr int kBlocks = 24;  // with K and V of their own, so that the L2 helps no more than in use

// Median milliseconds of one of `launches` launches, over kRounds rounds after two to warm up.
double Median(cudaStream_t stream, int launches, const std::function<void(int)>& launch) {
  cudaEvent_t begin, end;
  CheckCuda(cudaEventCreate(&begin), "cudaEventCreate");
  CheckCuda(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int round = 0; round < kRounds + 2; ++round) {
    CheckCuda(cudaEventRecord(begin, stream), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) launch(i);
    CheckCuda(cudaEventRecord(end, stream), "cudaEventRecord");
    CheckCuda(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (round >= 2) times.push_back(milliseconds / launches);
  }
  CheckCuda(cudaEventDestroy(begin), "cudaEventDestroy");
  CheckCuda(cudaEventDestroy(end), "cudaEventDestroy");
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

void Print(const std::string& what, double milliseconds, double flop) {
  fmt::print("time {:<72} {:.4f} ms {:6.1f} TFLOP/s\n", what, milliseconds,
             flop / milliseconds * 1e-9);
}

double Flop(const Case& one) {
  return 4.0 * one.q_tokens * static_cast<double>(one.kv_tokens()) * one.heads * one.head_dim;
}

using Scenes = std::vector<std::unique_ptr<Scene>>;

template <typename Paged>
void TimePaged(cudaStream_t stream, const char* name, const Case& one, const Scenes& scenes) {
  Paged paged({one.q_tokens, one.heads, one.head_dim});
  paged.Plan(scenes[0]->step());
  paged.Upload(stream);
  const double time =
      Median(stream, kBlocks, [&](int i) { paged.Run(scenes[i % scenes.size()]->call(), stream); });
  Print(fmt::format("{:<14} {}", name, one.ToString()), time, Flop(one));
}

void TimeSdpa(cudaStream_t stream, cublasContext* blas, const Case& one, const Scenes& scenes) {
  const SdpaType type{one.dtype, one.heads, one.head_dim};
  const size_t bytes = SdpaPagedWorkspace(type, one.q_tokens, one.kv_tokens());
  const DeviceBytes workspace(bytes);
  const double time = Median(stream, 2, [&](int i) {
    SdpaPaged(blas, type, scenes[i]->step(), scenes[i]->call(), workspace.data(), bytes, stream);
  });
  Print(fmt::format("{:<14} {}", "sdpa", one.ToString()), time, Flop(one));
}

void TimeCase(cudaStream_t stream, cublasContext* blas, const Case& one) {
  Scenes scenes;
  for (int i = 0; i < kBlocks; ++i) {
    scenes.push_back(std::make_unique<Scene>(one, 1000 + i, stream));
  }
  if (Fa2Built() && Fa2Supported()) TimePaged<Fa2Paged>(stream, "flashinfer", one, scenes);
  if (Fa3Built() && Fa3Supported()) TimePaged<Fa3Paged>(stream, "flashinfer-fa3", one, scenes);
  TimeSdpa(stream, blas, one, scenes);
}

void TimeFrames(cudaStream_t stream, const FrameShape& shape) {
  const int64_t row = int64_t{shape.heads} * shape.head_dim;
  const int64_t rows = int64_t{shape.frames} * shape.tokens;
  const DeviceBytes activation(rows * 3 * row * 2), out(rows * row * 2);
  FillNormal(2, activation.data(), rows * 3 * row, 7, 1.0f, stream);
  const auto* base = static_cast<const char*>(activation.data());
  const FrameCall call{base, base + row * 2, base + row * 4, 3 * row, out.data()};
  const double flop = 4.0 * rows * shape.tokens * row;
  const std::string what = fmt::format("{} frames of {}, {}x{}", shape.frames, shape.tokens,
                                       shape.heads, shape.head_dim);
  if (Fa2Built() && Fa2Supported()) {
    const Fa2Frames frames(shape);
    Print("flashinfer     " + what, Median(stream, kBlocks, [&](int) { frames.Run(call, stream); }),
          flop);
  }
  if (Fa3Built() && Fa3Supported()) {
    const Fa3Frames frames(shape);
    Print("flashinfer-fa3 " + what, Median(stream, kBlocks, [&](int) { frames.Run(call, stream); }),
          flop);
  }
}

void TimeEntry(cudaStream_t stream, int rows, int count) {
  const EntryShape shape{rows, 16, 128, 1032};
  const size_t cache_bytes = size_t{1032} * 16 * 128 * 4;
  const int lists = 16;  // four passes of four blocks
  const DeviceBytes caches(2 * lists * cache_bytes);
  const DeviceBytes q(size_t{16} * 16 * 128 * 4), out(size_t{16} * 16 * 128 * 4), entries(4);
  const DeviceBytes workspace(EntryWorkspace(shape));
  FillNormal(4, caches.data(), 2 * lists * cache_bytes / 4, 3, 1.0f, stream);
  FillNormal(4, q.data(), 16 * 16 * 128, 4, 1.0f, stream);
  ClearEntryWorkspace(shape, workspace.data(), stream);
  CheckCuda(cudaMemcpyAsync(entries.data(), &count, 4, cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
  const auto* base = static_cast<const float*>(caches.data());
  const int64_t part = 16 * 128;  // K or V of an entry of one list
  const double time = Median(stream, lists, [&](int i) {
    EntryAttention(shape,
                   {static_cast<const float*>(q.data()), 16 * 128, base + 2 * i * part,
                    base + (2 * i + 1) * part, 2 * lists * part,
                    static_cast<const int32_t*>(entries.data()), static_cast<float*>(out.data())},
                   workspace.data(), stream);
  });
  const double bytes = 2.0 * count * 16 * 128 * 4;
  fmt::print("time entry          {} rows 16x128, {} entries: {:.4f} ms {:.2f} TB/s\n", rows, count,
             time, bytes / time * 1e-9);
}

}  // namespace

void TimeAttention(CudaStream stream, cublasContext* blas) {
  const auto planes = Layout::kPlanes;
  const auto interleaved = Layout::kInterleaved;
  const auto bf16 = DType::kBF16;
  TimeCase(stream, blas, {planes, bf16, 16, 64, 978, 972, 72, 2400, 1.0f});
  TimeCase(stream, blas, {planes, bf16, 16, 64, 978, 972, 72, 4200, 1.0f});
  TimeCase(stream, blas, {interleaved, bf16, 16, 64, 978, 972, 72, 2400, 1.0f});
  TimeCase(stream, blas, {planes, bf16, 16, 64, 978, 972, 8, 48, 1.0f});
  TimeCase(stream, blas, {planes, bf16, 16, 64, 262, 256, 72, 1800, 1.0f});
  TimeCase(stream, blas, {planes, bf16, 16, 64, 114, 108, 72, 2400, 1.0f});
  TimeCase(stream, blas, {planes, bf16, 16, 128, 978, 972, 72, 2400, 1.0f});
  TimeFrames(stream, {1, 978, 16, 64});
  TimeFrames(stream, {8, 978, 16, 64});
  TimeFrames(stream, {1, 7824, 16, 64});
  TimeEntry(stream, 1, 300);
  TimeEntry(stream, 1, 1031);
  TimeEntry(stream, 8, 8);
}

}  // namespace lingbot::bench
