#include "ops/cuda/attention_fa3.h"

#include <cmath>

#include "base/check.h"
#include "ops/cuda/attention_fa3_kernels.h"
#include "ops/cuda/attention_merge.h"
#include "ops/cuda/attention_plan.h"
#include "ops/cuda/device_bytes.h"
#include "ops/cuda/flashinfer_checks.h"
#include "ops/cuda/staged_ints.h"

namespace lingbot::ops::cuda {
namespace {

// Bytes of the float32 parts, then of their log-sum-exps.
struct PartBytes {
  uint64_t values = 0;
  uint64_t lse = 0;
};

int CapacityFor(const PagedLimits& limits, int multiprocessors) {
  return Fa3Capacity(limits.max_q_tokens, limits.heads, Fa3TileFor(limits.head_dim),
                     multiprocessors);
}

// A part row belongs to a work item, and an item has no more rows than a tile.
PartBytes PartBytesFor(const PagedLimits& limits, int multiprocessors) {
  const uint64_t rows =
      static_cast<uint64_t>(CapacityFor(limits, multiprocessors)) * Fa3TileFor(limits.head_dim).q;
  return {rows * limits.head_dim * sizeof(float), rows * sizeof(float)};
}

void CheckDevice() {
  Check(Fa3Supported(), ErrorCode::kUnavailable,
        "attention back end flashinfer-fa3 needs compute capability 9.0, this device has {}.{}: "
        "choose flashinfer",
        ComputeCapability() / 10, ComputeCapability() % 10);
}

void Launch(const Fa3Launch& launch, int head_dim, CudaStream stream) {
  if (head_dim == 64) {
    LaunchFa3HeadDim64(launch, stream);
  } else {
    LaunchFa3HeadDim128(launch, stream);
  }
}

}  // namespace

bool Fa3Built() { return true; }
bool Fa3Supported() { return ComputeCapability() == 90; }

struct Fa3Paged::Impl {
  Impl(const PagedLimits& wanted, int multiprocessors)
      : limits(wanted),
        tile(Fa3TileFor(wanted.head_dim)),
        layout(MakeFa3Layout(multiprocessors, CapacityFor(wanted, multiprocessors), 0)),
        part_bytes(PartBytesFor(wanted, multiprocessors)),
        work(layout.size),
        parts(part_bytes.values + part_bytes.lse) {}

  float* part_lse() const {
    return reinterpret_cast<float*>(static_cast<char*>(parts.data()) + part_bytes.values);
  }

  PagedLimits limits;
  Fa3Tile tile;
  Fa3Layout layout;
  PartBytes part_bytes;
  StagedInts work;
  DeviceBytes parts;
  PagedStep step;
  int segments = 0;
};

Fa3Paged::Fa3Paged(const PagedLimits& limits) {
  CheckPagedLimits(limits);
  CheckDevice();
  impl_ = std::make_unique<Impl>(limits, MultiprocessorCount());
}

Fa3Paged::~Fa3Paged() = default;

void Fa3Paged::Plan(const PagedStep& step) {
  CheckStep(step, impl_->limits);
  const int segments =
      Fa3ChooseSegments(step, impl_->limits.heads, impl_->tile, impl_->layout.blocks);
  FillFa3Paged(impl_->layout, step, impl_->limits.heads, impl_->tile, segments, impl_->work.Host());
  impl_->step = step;
  impl_->segments = segments;
}

void Fa3Paged::Upload(CudaStream stream) { impl_->work.Upload(stream); }

void Fa3Paged::Run(const PagedCall& call, CudaStream stream) const {
  const PagedStep& step = impl_->step;
  const PagedLimits& limits = impl_->limits;
  Check(step.q_tokens > 0, ErrorCode::kInternal, "paged attention: Run before Plan");
  CheckPagedCall(call, limits, step);
  const bool split = impl_->segments > 1;
  Fa3Launch launch;
  launch.q = call.q;
  launch.q_token_stride = call.q_token_stride;
  launch.q_rows = step.q_tokens;
  launch.kv = call.kv;
  launch.page_size = step.page_size;
  launch.heads = limits.heads;
  launch.scale = 1.0f / std::sqrt(static_cast<float>(limits.head_dim));
  launch.layout = impl_->layout;
  launch.work = impl_->work.device();
  launch.out = call.out;
  launch.parts = split ? static_cast<float*>(impl_->parts.data()) : nullptr;
  launch.part_lse = split ? impl_->part_lse() : nullptr;
  Launch(launch, limits.head_dim, stream);
  if (split) {
    MergeParts(launch.parts, launch.part_lse, launch.work + launch.layout.segments,
               static_cast<int64_t>(step.q_tokens) * limits.heads, limits.head_dim, call.out,
               stream);
  }
}

uint64_t Fa3Paged::signature() const {
  const PagedStep& step = impl_->step;
  return step.q_tokens == 0
             ? 0
             : Signature({3, step.q_tokens, step.page_size, impl_->segments > 1 ? 1 : 0});
}

uint64_t Fa3Paged::DeviceMemory(const PagedLimits& limits, int multiprocessors) {
  const PartBytes bytes = PartBytesFor(limits, multiprocessors);
  const Fa3Layout layout = MakeFa3Layout(multiprocessors, CapacityFor(limits, multiprocessors), 0);
  return bytes.values + bytes.lse + sizeof(int32_t) * static_cast<uint64_t>(layout.size);
}

struct Fa3Frames::Impl {
  explicit Impl(const FrameShape& wanted, int multiprocessors)
      : shape(wanted),
        layout(MakeFa3Layout(
            multiprocessors,
            wanted.frames * wanted.heads * CeilDiv(wanted.tokens, Fa3TileFor(wanted.head_dim).q),
            wanted.frames)),
        work(layout.size) {}

  FrameShape shape;
  Fa3Layout layout;
  StagedInts work;
};

Fa3Frames::Fa3Frames(const FrameShape& shape) {
  CheckFlashInferFrames(shape);
  CheckDevice();
  impl_ = std::make_unique<Impl>(shape, MultiprocessorCount());
  FillFa3Frames(impl_->layout, shape, Fa3TileFor(shape.head_dim), impl_->work.Host());
  impl_->work.UploadNow();
}

Fa3Frames::~Fa3Frames() = default;

void Fa3Frames::Run(const FrameCall& call, CudaStream stream) const {
  const FrameShape& shape = impl_->shape;
  CheckFrameCall(call, shape);
  Fa3Launch launch;
  launch.q = call.q;
  launch.q_token_stride = call.token_stride;
  launch.q_rows = shape.frames * shape.tokens;
  launch.kv = {call.k, call.v, call.token_stride, call.token_stride,
               impl_->work.device() + impl_->layout.pages};
  launch.page_size = shape.tokens;
  launch.heads = shape.heads;
  launch.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  launch.layout = impl_->layout;
  launch.work = impl_->work.device();
  launch.out = call.out;
  Launch(launch, shape.head_dim, stream);
}

}  // namespace lingbot::ops::cuda
