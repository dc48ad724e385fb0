#include "ops/cuda/attention_fa2.h"

#include <cmath>

#include "base/check.h"
#include "ops/cuda/attention_fa2_kernels.h"
#include "ops/cuda/attention_plan.h"
#include "ops/cuda/device_bytes.h"
#include "ops/cuda/flashinfer_checks.h"
#include "ops/cuda/staged_ints.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kElementBytes = 2;

// Bytes of the partial results, then of their log-sum-exps.
struct PartBytes {
  uint64_t values = 0;
  uint64_t lse = 0;
};

PartBytes PartBytesFor(const PagedLimits& limits, int multiprocessors) {
  const uint64_t rows = Fa2PartRows(limits.max_q_tokens, limits.heads, multiprocessors);
  return {rows * limits.heads * limits.head_dim * kElementBytes,
          rows * limits.heads * sizeof(float)};
}

Fa2Layout PagedLayout(const PagedLimits& limits, int multiprocessors) {
  return MakeFa2Layout(Fa2Capacity(limits.max_q_tokens, limits.heads, multiprocessors), 1,
                       limits.max_q_tokens);
}

void CheckDevice() {
  Check(Fa2Supported(), ErrorCode::kUnavailable,
        "attention back end flashinfer needs compute capability 8.0 or later, this device has "
        "{}.{}: choose sdpa",
        ComputeCapability() / 10, ComputeCapability() % 10);
}

}  // namespace

bool Fa2Built() { return true; }
bool Fa2Supported() { return ComputeCapability() >= 80; }

struct Fa2Paged::Impl {
  Impl(const PagedLimits& wanted, int multiprocessor_count)
      : limits(wanted),
        multiprocessors(multiprocessor_count),
        layout(PagedLayout(wanted, multiprocessor_count)),
        part_bytes(PartBytesFor(wanted, multiprocessor_count)),
        work(layout.size),
        parts(part_bytes.values + part_bytes.lse) {}

  PagedLimits limits;
  int multiprocessors;
  Fa2Layout layout;
  PartBytes part_bytes;
  StagedInts work;
  DeviceBytes parts;
  PagedStep step;
};

Fa2Paged::Fa2Paged(const PagedLimits& limits) {
  CheckPagedLimits(limits);
  CheckDevice();
  impl_ = std::make_unique<Impl>(limits, MultiprocessorCount());
}

Fa2Paged::~Fa2Paged() = default;

void Fa2Paged::Plan(const PagedStep& step) {
  CheckStep(step, impl_->limits);
  FillFa2Paged(impl_->layout, step, impl_->limits.heads, impl_->multiprocessors,
               impl_->work.Host());
  impl_->step = step;
}

void Fa2Paged::Upload(CudaStream stream) { impl_->work.Upload(stream); }

void Fa2Paged::Run(const PagedCall& call, CudaStream stream) const {
  Check(impl_->step.q_tokens > 0, ErrorCode::kInternal, "paged attention: Run before Plan");
  const PagedLimits& limits = impl_->limits;
  CheckPagedCall(call, limits, impl_->step);
  Fa2Launch launch;
  launch.q = call.q;
  launch.q_token_stride = call.q_token_stride;
  launch.kv = call.kv;
  launch.page_size = impl_->step.page_size;
  launch.heads = limits.heads;
  launch.head_dim = limits.head_dim;
  launch.scale = 1.0f / std::sqrt(static_cast<float>(limits.head_dim));
  launch.layout = impl_->layout;
  launch.work = impl_->work.device();
  launch.out = call.out;
  launch.parts = impl_->parts.data();
  launch.part_lse =
      reinterpret_cast<float*>(static_cast<char*>(impl_->parts.data()) + impl_->part_bytes.values);
  LaunchFa2(launch, stream);
}

uint64_t Fa2Paged::signature() const {
  const PagedStep& step = impl_->step;
  return step.q_tokens == 0 ? 0 : Signature({2, step.page_size});
}

uint64_t Fa2Paged::DeviceMemory(const PagedLimits& limits, int multiprocessors) {
  const PartBytes bytes = PartBytesFor(limits, multiprocessors);
  return bytes.values + bytes.lse +
         sizeof(int32_t) * static_cast<uint64_t>(PagedLayout(limits, multiprocessors).size);
}

struct Fa2Frames::Impl {
  explicit Impl(const FrameShape& wanted)
      : shape(wanted),
        layout(MakeFa2Layout(wanted.frames * CeilDiv(wanted.tokens, kFa2TileQ), wanted.frames, 0)),
        work(layout.size) {}

  FrameShape shape;
  Fa2Layout layout;
  StagedInts work;
};

Fa2Frames::Fa2Frames(const FrameShape& shape) {
  CheckFlashInferFrames(shape);
  CheckDevice();
  impl_ = std::make_unique<Impl>(shape);
  FillFa2Frames(impl_->layout, shape, impl_->work.Host());
  impl_->work.UploadNow();
}

Fa2Frames::~Fa2Frames() = default;

void Fa2Frames::Run(const FrameCall& call, CudaStream stream) const {
  const FrameShape& shape = impl_->shape;
  CheckFrameCall(call, shape);
  Fa2Launch launch;
  launch.q = call.q;
  launch.q_token_stride = call.token_stride;
  launch.kv = {call.k, call.v, call.token_stride, call.token_stride,
               impl_->work.device() + impl_->layout.pages};
  launch.page_size = shape.tokens;
  launch.heads = shape.heads;
  launch.head_dim = shape.head_dim;
  launch.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  launch.layout = impl_->layout;
  launch.work = impl_->work.device();
  launch.out = call.out;
  LaunchFa2(launch, stream);
}

}  // namespace lingbot::ops::cuda
