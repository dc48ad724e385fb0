#include "ops/cuda/attention_state.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/check.h"
#include "ops/cuda/backend.h"
#include "ops/cuda/check.h"
#include "ops/cuda/state.h"
#include "tensor/device_memory.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int kMaxEntryRows = 16;

void CheckBlas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) FailLibrary("cuBLAS", static_cast<int>(status));
}

PagedStep StepOf(const ops::PagedStep& step) {
  return {static_cast<int>(step.queries), static_cast<int>(step.view.page_size),
          static_cast<int>(step.view.pages.size()), step.view.tokens()};
}

PagedCall CallOf(const TensorView& q, const PagedKvView& kv, const int32_t* pages,
                 const TensorView& out) {
  return {q.raw(), q.stride(0), out.raw(), {kv.k, kv.v, kv.page_stride, kv.token_stride, pages}};
}

DensePlan PlanFor(const DenseShape& shape) {
  int ordinal = 0, multiprocessors = 0;
  CheckCuda(cudaGetDevice(&ordinal), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
            "cudaDeviceGetAttribute");
  return PlanDense(shape, multiprocessors);
}

float ScaleOf(int64_t head_dim) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

// Scores are bounded in natural units, kernels count in powers of two.
float InLog2(float bound) { return bound * std::numbers::log2e_v<float>; }

}  // namespace

AttentionState::AttentionState(cudaStream_t stream, void* workspace, size_t workspace_bytes)
    : stream_(stream), library_workspace_(workspace), library_workspace_bytes_(workspace_bytes) {}

AttentionState::~AttentionState() {
  if (blas_ != nullptr) cublasDestroy(blas_);
}

cublasContext* AttentionState::Blas() {
  if (blas_ == nullptr) {
    CheckBlas(cublasCreate(&blas_));
    CheckBlas(cublasSetStream(blas_, stream_));
    CheckBlas(cublasSetWorkspace(blas_, library_workspace_, library_workspace_bytes_));
  }
  return blas_;
}

void AttentionState::Reserve(Context& context, AttentionBackend backend,
                             const ops::PagedLimits& limits) {
  kv_capacity_ = limits.tokens;
  const PagedLimits most{static_cast<int>(limits.queries), static_cast<int>(limits.heads),
                         static_cast<int>(limits.head_dim)};
  switch (backend) {
    case AttentionBackend::kFlashInfer:
      fa2_ = std::make_unique<Fa2Paged>(most);
      break;
    case AttentionBackend::kFlashInferFa3:
      fa3_ = std::make_unique<Fa3Paged>(most);
      break;
    case AttentionBackend::kDense:
      extents_ = context.step_inputs().Allocate<DenseExtents>(limits.blocks);
      break;
    default:
      Blas();
  }
}

uint64_t AttentionState::Plan(AttentionBackend backend, const ops::PagedStep& step) {
  step_ = step;
  plan_uploaded_ = false;
  switch (backend) {
    case AttentionBackend::kFlashInfer:
      fa2_->Plan(StepOf(step));
      return fa2_->signature();
    case AttentionBackend::kFlashInferFa3:
      fa3_->Plan(StepOf(step));
      return fa3_->signature();
    case AttentionBackend::kDense:
      EncodeExtents(step);
      return 1;
    default:
      // Launches of the products depend on the lengths.
      return static_cast<uint64_t>(step.view.tokens());
  }
}

void AttentionState::Upload() {
  if (plan_uploaded_) return;
  plan_uploaded_ = true;
  if (fa2_) fa2_->Upload(stream_);
  if (fa3_) fa3_->Upload(stream_);
}

const DensePlan& AttentionState::DensePlanFor(const DenseShape& shape) {
  const std::array<int64_t, 5> key{shape.batches, shape.q_tokens, shape.heads, shape.head_dim,
                                   shape.kv_capacity};
  const auto found = dense_plans_.find(key);
  return found != dense_plans_.end() ? found->second
                                     : dense_plans_.emplace(key, PlanFor(shape)).first->second;
}

// Grows before a step is first recorded, when every shape has run once.
void* AttentionState::DenseWorkspace(const DensePlan& plan) {
  if (plan.workspace_bytes > dense_workspace_.bytes()) {
    CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    dense_workspace_ =
        Buffer(DType::kU8, {static_cast<int64_t>(plan.workspace_bytes)}, MemoryKind::kCuda);
  }
  return dense_workspace_.view().raw();
}

void AttentionState::EncodeExtents(const ops::PagedStep& step) {
  Check(step.extent_count >= 1, ErrorCode::kInternal,
        "the visible tokens of the cache are more than two contiguous extents; use another "
        "attention back end");
  const DensePlan& plan =
      DensePlanFor({1, static_cast<int>(step.queries), static_cast<int>(step.heads),
                    static_cast<int>(step.head_dim), kv_capacity_});
  const int64_t row = step.view.token_stride;
  const size_t element = SizeOf(step.view.dtype);
  for (int block = 0; block < step.blocks; ++block) {
    const auto rows = [&](int index) -> DenseRows {
      if (index >= step.extent_count) return {};
      const KvExtent& extent = step.extents[index];
      const size_t offset =
          static_cast<size_t>(block * step.block_stride + extent.begin * row) * element;
      return {static_cast<const std::byte*>(step.view.k) + offset,
              static_cast<const std::byte*>(step.view.v) + offset, extent.count};
    };
    EncodeDenseExtents(plan, row, 0, rows(0), rows(1), &extents_.host[block]);
  }
}

void AttentionState::DensePaged(const TensorView& q, const PagedKvView& kv, float score_bound,
                                const TensorView& out) {
  const DensePlan& plan = DensePlanFor({1, static_cast<int>(q.dim(0)), static_cast<int>(q.dim(1)),
                                        static_cast<int>(q.dim(2)), kv_capacity_});
  DenseInput input;
  input.q = q.raw();
  input.q_token_stride = q.stride(0);
  input.device_extents = extents_.device + kv.block;
  input.scale = kDensePrescaled;
  input.score_bound = InLog2(score_bound);
  RunDense(plan, input, out.raw(), DenseWorkspace(plan), stream_);
}

void AttentionState::DenseFrames(int64_t frames, const TensorView& q, const TensorView& k,
                                 const TensorView& v, float score_bound, bool prescaled,
                                 const TensorView& out) {
  const int64_t tokens = q.dim(0) / frames;
  const DensePlan& plan =
      DensePlanFor({static_cast<int>(frames), static_cast<int>(tokens), static_cast<int>(q.dim(1)),
                    static_cast<int>(q.dim(2)), tokens});
  DenseExtents extents;
  const int64_t batch_stride = tokens * q.stride(0);
  EncodeDenseExtents(plan, k.stride(0), batch_stride, {k.raw(), v.raw(), tokens}, {}, &extents);
  DenseInput input;
  input.q = q.raw();
  input.q_token_stride = q.stride(0);
  input.q_batch_stride = batch_stride;
  input.host_extents = &extents;
  input.scale = prescaled ? kDensePrescaled : ScaleOf(q.dim(2));
  input.score_bound = InLog2(score_bound);
  RunDense(plan, input, out.raw(), DenseWorkspace(plan), stream_);
}

void AttentionState::Paged(Context& context, AttentionBackend backend, const TensorView& q,
                           const PagedKvView& kv, float score_bound, const TensorView& out) {
  last_ = backend;
  const PagedCall call = CallOf(q, kv, step_.device_pages, out);
  switch (backend) {
    case AttentionBackend::kFlashInfer:
      return fa2_->Run(call, stream_);
    case AttentionBackend::kFlashInferFa3:
      return fa3_->Run(call, stream_);
    case AttentionBackend::kDense:
      return DensePaged(q, kv, score_bound, out);
    default:
      break;
  }
  const SdpaType type{q.dtype(), static_cast<int>(q.dim(1)), static_cast<int>(q.dim(2))};
  const Arena::Scope scope(context.arena());
  const size_t bytes = SdpaPagedWorkspace(type, static_cast<int>(q.dim(0)), kv.tokens());
  const TensorView workspace = context.arena().Allocate(DType::kU8, {static_cast<int64_t>(bytes)});
  SdpaPaged(Blas(), type, StepOf(step_), call, workspace.raw(), bytes, stream_);
}

void AttentionState::Frames(Context& context, AttentionBackend backend, int64_t frames,
                            const TensorView& q, const TensorView& k, const TensorView& v,
                            float score_bound, bool prescaled, const TensorView& out) {
  const int64_t tokens = q.dim(0) / frames;
  const FrameShape shape{static_cast<int>(frames), static_cast<int>(tokens),
                         static_cast<int>(q.dim(1)), static_cast<int>(q.dim(2))};
  const FrameCall call{q.raw(), k.raw(), v.raw(), q.stride(0), out.raw()};
  const FrameKey key{frames, tokens, q.dim(1), q.dim(2)};
  switch (backend) {
    case AttentionBackend::kFlashInfer: {
      auto& runner = fa2_frames_[key];
      if (!runner) runner = std::make_unique<Fa2Frames>(shape);
      return runner->Run(call, stream_);
    }
    case AttentionBackend::kFlashInferFa3: {
      auto& runner = fa3_frames_[key];
      if (!runner) runner = std::make_unique<Fa3Frames>(shape);
      return runner->Run(call, stream_);
    }
    case AttentionBackend::kDense:
      return DenseFrames(frames, q, k, v, score_bound, prescaled, out);
    default:
      break;
  }
  const SdpaType type{q.dtype(), shape.heads, shape.head_dim};
  const Arena::Scope scope(context.arena());
  const size_t bytes = SdpaFramesWorkspace(type, shape.tokens);
  const TensorView workspace = context.arena().Allocate(DType::kU8, {static_cast<int64_t>(bytes)});
  SdpaFrames(Blas(), type, shape.frames, shape.tokens, call, workspace.raw(), bytes, stream_);
}

void AttentionState::Entries(Context&, const TensorView& q, const EntryKv& kv,
                             const TensorView& out) {
  const int64_t rows = q.dim(0);
  for (int64_t begin = 0; begin < rows; begin += kMaxEntryRows) {
    const int64_t end = std::min<int64_t>(rows, begin + kMaxEntryRows);
    const EntryShape shape{static_cast<int>(end - begin), static_cast<int>(q.dim(1)),
                           static_cast<int>(q.dim(2)), static_cast<int>(kv.capacity)};
    Buffer& workspace =
        entry_workspaces_[{shape.rows, shape.heads, shape.head_dim, shape.capacity}];
    if (workspace.empty()) {
      const auto bytes = static_cast<int64_t>(EntryWorkspace(shape));
      workspace = Buffer(DType::kU8, {bytes}, MemoryKind::kCuda);
      ClearEntryWorkspace(shape, workspace.view().raw(), stream_);
    }
    const EntryCall call{q[begin].data<float>(),  q.stride(0),    kv.k.data<float>(),
                         kv.v.data<float>(),      kv.k.stride(0), kv.entries,
                         out[begin].data<float>()};
    EntryAttention(shape, call, workspace.view().raw(), stream_);
  }
}

// ---- the back end's functions ----

namespace {

bool Runs(AttentionBackend backend, const Setup& setup, int64_t head_dim) {
  if (backend == AttentionBackend::kSdpa) return true;
  if (setup.storage != DType::kBF16 || (head_dim != 64 && head_dim != 128)) return false;
  UseCudaDevice(setup.ordinal);
  switch (backend) {
    case AttentionBackend::kDense:
      return DenseSupported(setup.ordinal);
    case AttentionBackend::kFlashInferFa3:
      return Fa3Supported();
    case AttentionBackend::kFlashInfer:
      return Fa2Supported();
    default:
      return false;
  }
}

}  // namespace

AttentionBackend ResolveAttentionBackend(AttentionBackend wanted, const Setup& setup,
                                         int64_t head_dim) {
  constexpr AttentionBackend kFastestFirst[] = {
      AttentionBackend::kDense, AttentionBackend::kFlashInferFa3, AttentionBackend::kFlashInfer,
      AttentionBackend::kSdpa};
  std::string names;
  for (const AttentionBackend backend : kFastestFirst) {
    if (!Runs(backend, setup, head_dim)) continue;
    if (wanted == AttentionBackend::kAuto || wanted == backend) return backend;
    names += (names.empty() ? "" : ", ") + std::string(NameOf(backend));
  }
  Fail(ErrorCode::kUnavailable,
       "attention '{}' cannot run on this GPU with this build, {} and heads of {} channels; what "
       "can: {}",
       NameOf(wanted), setup.storage == DType::kBF16 ? "bf16" : "fp32", head_dim, names);
}

float QueryScale(AttentionBackend backend, int64_t head_dim) {
  return backend == AttentionBackend::kDense ? InLog2(ScaleOf(head_dim)) : 1.0f;
}

size_t AttentionWorkspaceBytes(const Setup& setup, int64_t tokens, int64_t kv_tokens, int64_t heads,
                               int64_t head_dim) {
  if (setup.attention != AttentionBackend::kSdpa) return 0;
  const SdpaType type{setup.activations(), static_cast<int>(heads), static_cast<int>(head_dim)};
  return std::max(SdpaPagedWorkspace(type, static_cast<int>(tokens), kv_tokens),
                  SdpaFramesWorkspace(type, static_cast<int>(std::min(tokens, kv_tokens)))) +
         kGpuAlignment;
}

size_t PagedAttentionInputBytes(const Setup& setup, const ops::PagedLimits& limits) {
  return setup.attention == AttentionBackend::kDense
             ? static_cast<size_t>(limits.blocks) * sizeof(DenseExtents) + kGpuAlignment
             : 0;
}

void ReservePagedAttention(Context& context, AttentionBackend backend,
                           const ops::PagedLimits& limits) {
  context.cuda().attention().Reserve(context, backend, limits);
}

uint64_t PlanPagedAttention(Context& context, AttentionBackend backend,
                            const ops::PagedStep& step) {
  return context.cuda().attention().Plan(backend, step);
}

void PagedAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const PagedKvView& kv, float score_bound, const TensorView& out) {
  context.cuda().attention().Paged(context, backend, q, kv, score_bound, out);
}

AttentionBackend LastAttentionBackend(Context& context) {
  return context.cuda().attention().last();
}

void FrameAttention(Context& context, AttentionBackend backend, int64_t frames, const TensorView& q,
                    const TensorView& k, const TensorView& v, float score_bound, bool prescaled,
                    const TensorView& out) {
  context.cuda().attention().Frames(context, backend, frames, q, k, v, score_bound, prescaled, out);
}

void EntryAttention(Context& context, const TensorView& q, const EntryKv& kv,
                    const TensorView& out) {
  context.cuda().attention().Entries(context, q, kv, out);
}

}  // namespace lingbot::ops::cuda
