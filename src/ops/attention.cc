#include "ops/attention.h"

#include "base/check.h"
#include "ops/cpu/attention_problem.h"
#include "ops/cpu/attention_sdpa.h"
#include "ops/cpu/attention_tiled.h"
#include "ops/cpu/reference/attention.h"
#include "ops/cpu/state.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {
namespace {

// Here and below, shapes are turned into text only when something is wrong: that allocates, and
// these checks run for every block of every frame.
void CheckHeadTensor(const char* name, const TensorView& view, int64_t heads, int64_t head_dim) {
  if (view.rank() != 3 || view.dim(1) != heads || view.dim(2) != head_dim) {
    Fail(ErrorCode::kInternal, "attention: {} has shape {}, expected [tokens, {}, {}]", name,
         view.shape(), heads, head_dim);
  }
  Check(view.stride(2) == 1, ErrorCode::kInternal,
        "attention: the channels of {} must be contiguous; their stride is {}", name,
        view.stride(2));
  Check(view.device() == Device::kCpu && view.raw() != nullptr, ErrorCode::kInternal,
        "attention: {} has no memory on the CPU", name);
}

void CheckFloat(const char* name, const TensorView& view) {
  Check(view.dtype() == DType::kF32, ErrorCode::kInternal, "attention: {} is {}, expected float32",
        name, NameOf(view.dtype()));
}

AttentionProblem QueriesOf(const TensorView& q, const TensorView& out) {
  if (q.rank() != 3 || q.dim(0) < 0 || q.dim(1) < 1 || q.dim(2) < kHeadDimStep ||
      q.dim(2) > kMaxHeadDim || q.dim(2) % kHeadDimStep != 0) {
    Fail(ErrorCode::kInternal,
         "attention: q has shape {}, expected [tokens, heads, head_dim] with a head_dim that is a "
         "multiple of {} up to {}",
         q.shape(), kHeadDimStep, kMaxHeadDim);
  }
  CheckHeadTensor("q", q, q.dim(1), q.dim(2));
  CheckHeadTensor("out", out, q.dim(1), q.dim(2));
  CheckFloat("q", q);
  CheckFloat("out", out);
  Check(out.dim(0) == q.dim(0), ErrorCode::kInternal, "attention: out has {} tokens, q has {}",
        out.dim(0), q.dim(0));
  AttentionProblem problem;
  problem.q = static_cast<const float*>(q.raw());
  problem.q_token_stride = q.stride(0);
  problem.q_head_stride = q.stride(1);
  problem.out = static_cast<float*>(out.raw());
  problem.out_token_stride = out.stride(0);
  problem.out_head_stride = out.stride(1);
  problem.tokens = q.dim(0);
  problem.heads = q.dim(1);
  problem.head_dim = q.dim(2);
  return problem;
}

void CheckKvType(DType dtype) {
  Check(dtype == DType::kF32 || dtype == DType::kBF16, ErrorCode::kInternal,
        "attention: k and v are {}, expected float32 or bfloat16", NameOf(dtype));
}

KvPlane PlaneOf(const TensorView& view) {
  return {.data = static_cast<const std::byte*>(view.raw()),
          .dtype = view.dtype(),
          .run_stride = 0,
          .token_stride = view.stride(0),
          .head_stride = view.stride(1)};
}

KvPlane PlaneOf(const PagedKvView& kv, const void* data) {
  return {.data = static_cast<const std::byte*>(data),
          .dtype = kv.dtype,
          .run_stride = kv.page_stride,
          .token_stride = kv.token_stride,
          .head_stride = kv.head_stride};
}

void CheckPages(const PagedKvView& kv) {
  Check(kv.k != nullptr && kv.v != nullptr && !kv.pages.empty(), ErrorCode::kInternal,
        "attention: no kv token is visible ({} pages)", kv.pages.size());
  Check(kv.page_size >= 1 && kv.last_page_len >= 1 && kv.last_page_len <= kv.page_size,
        ErrorCode::kInternal,
        "attention: the last page holds {} tokens, expected 1 to the page size of {}",
        kv.last_page_len, kv.page_size);
  for (const int32_t page : kv.pages) {
    Check(page >= 0, ErrorCode::kInternal, "attention: page {} in the page table", page);
  }
}

void Dispatch(Context& context, AttentionBackend backend, const AttentionProblem& problem) {
  switch (ResolveAttentionBackend(backend)) {
    case AttentionBackend::kReference:
      return reference::Attention(context, problem);
    case AttentionBackend::kSdpa:
      return GatheredAttention(context, problem);
    case AttentionBackend::kCpu:
      return TiledAttention(context, problem);
    default:
      break;
  }
  Fail(ErrorCode::kInternal, "attention: unknown back end {}", static_cast<int>(backend));
}

}  // namespace

void DenseAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const TensorView& k, const TensorView& v, const TensorView& out) {
  AttentionProblem problem = QueriesOf(q, out);
  CheckHeadTensor("k", k, problem.heads, problem.head_dim);
  CheckHeadTensor("v", v, problem.heads, problem.head_dim);
  CheckKvType(k.dtype());
  if (k.dtype() != v.dtype() || k.dim(0) != v.dim(0) || k.dim(0) < 1) {
    Fail(ErrorCode::kInternal,
         "attention: k has shape {} of {}, v has {} of {}; expected the same, with at least one "
         "token",
         k.shape(), NameOf(k.dtype()), v.shape(), NameOf(v.dtype()));
  }
  problem.k = PlaneOf(k);
  problem.v = PlaneOf(v);
  problem.run_tokens = k.dim(0);
  problem.last_run_tokens = k.dim(0);
  Dispatch(context, backend, problem);
}

void PagedAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const PagedKvView& kv, float score_bound, const TensorView& out) {
  if (context.setup().on_gpu()) {
    return cuda::PagedAttention(context, backend, q, kv, score_bound, out);
  }
  AttentionProblem problem = QueriesOf(q, out);
  CheckPages(kv);
  CheckKvType(kv.dtype);
  problem.k = PlaneOf(kv, kv.k);
  problem.v = PlaneOf(kv, kv.v);
  problem.pages = kv.pages;
  problem.run_tokens = kv.page_size;
  problem.last_run_tokens = kv.last_page_len;
  Dispatch(context, backend, problem);
}

float QueryScale(const Context& context, AttentionBackend backend, int64_t head_dim) {
  return context.setup().on_gpu() ? cuda::QueryScale(backend, head_dim) : 1.0f;
}

void FrameAttention(Context& context, AttentionBackend backend, int64_t frames, const TensorView& q,
                    const TensorView& k, const TensorView& v, float score_bound, bool prescaled,
                    const TensorView& out) {
  if (context.setup().on_gpu()) {
    return cuda::FrameAttention(context, backend, frames, q, k, v, score_bound, prescaled, out);
  }
  const int64_t tokens = q.dim(0) / frames;
  for (int64_t frame = 0; frame < frames; ++frame) {
    const auto rows = [&](const TensorView& all) {
      return all.Slice(0, frame * tokens, (frame + 1) * tokens);
    };
    DenseAttention(context, backend, rows(q), rows(k), rows(v), rows(out));
  }
}

void EntryAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const EntryKv& kv, const TensorView& out) {
  if (context.setup().on_gpu()) return cuda::EntryAttention(context, q, kv, out);
  DenseAttention(context, backend, q, kv.k, kv.v, out);
}

size_t PagedAttentionInputBytes(const Setup& setup, const PagedLimits& limits) {
  return setup.on_gpu() ? cuda::PagedAttentionInputBytes(setup, limits) : 0;
}

void ReservePagedAttention(Context& context, AttentionBackend backend, const PagedLimits& limits) {
  if (context.setup().on_gpu()) cuda::ReservePagedAttention(context, backend, limits);
}

uint64_t PlanPagedAttention(Context& context, AttentionBackend backend, const PagedStep& step) {
  return context.setup().on_gpu() ? cuda::PlanPagedAttention(context, backend, step) : 0;
}

AttentionBackend ResolveAttentionBackend(AttentionBackend wanted, const Setup& setup,
                                         int64_t head_dim) {
  if (setup.on_gpu()) return cuda::ResolveAttentionBackend(wanted, setup, head_dim);
  switch (wanted) {
    case AttentionBackend::kAuto:
      return AttentionBackend::kCpu;
    case AttentionBackend::kReference:
    case AttentionBackend::kCpu:
    case AttentionBackend::kSdpa:
      return wanted;
    default:
      break;
  }
  Fail(ErrorCode::kUnavailable,
       "attention '{}' needs a GPU; on the CPU there are cpu, sdpa and reference", NameOf(wanted));
}

size_t AttentionWorkspaceBytes(AttentionBackend backend, int threads, int64_t tokens,
                               int64_t kv_tokens, int64_t heads, int64_t head_dim) {
  switch (ResolveAttentionBackend(backend)) {
    case AttentionBackend::kReference:
      return reference::AttentionBytes(threads, kv_tokens, head_dim);
    case AttentionBackend::kSdpa:
      return GatheredAttentionBytes(tokens, kv_tokens, head_dim);
    case AttentionBackend::kCpu:
      return TiledAttentionBytes(threads, tokens, heads, head_dim);
    default:
      break;
  }
  Fail(ErrorCode::kInternal, "attention: unknown back end {}", static_cast<int>(backend));
}

size_t AttentionWorkspaceBytes(const Setup& setup, int64_t tokens, int64_t kv_tokens, int64_t heads,
                               int64_t head_dim) {
  if (setup.on_gpu()) {
    return cuda::AttentionWorkspaceBytes(setup, tokens, kv_tokens, heads, head_dim);
  }
  return AttentionWorkspaceBytes(setup.attention, setup.threads, tokens, kv_tokens, heads,
                                 head_dim);
}

AttentionBackend LastAttentionBackend(Context& context) {
  return context.setup().on_gpu() ? cuda::LastAttentionBackend(context)
                                  : context.cpu().last_attention;
}

}  // namespace lingbot::ops
