#ifndef LINGBOT_OPS_CUDA_BACKEND_H_
#define LINGBOT_OPS_CUDA_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "ops/attention.h"
#include "ops/context.h"
#include "ops/packed_weights.h"
#include "ops/rotary.h"

// The operators on a GPU, as the front files call them: shapes have been checked there, tensors are
// in the memory of the context's GPU, and work is launched on the context's stream. In a build
// without CUDA unavailable.cc stands in for all of this.
namespace lingbot::ops::cuda {

std::unique_ptr<CudaState, DeleteCudaState> MakeState(const Setup& setup);
size_t LibraryWorkspaceBytes();
void Activate(Context& context);
bool RunStep(Context& context, uint64_t key, bool replay, const std::function<void()>& body);
void UploadStepInputs(Context& context);
void Synchronize(Context& context);
// From here on launches belong to `stage` (kNone: -1), until the next mark.
void MarkStage(Context& context, int stage);
void MarkStep(Context& context, bool begin);
// Adds the milliseconds between the marks of the last step; the last stage's is what lies between
// the step's ends and its first and last mark.
void CollectStages(Context& context, std::span<double> milliseconds);
void Transfer(Context& context, const TensorView& from, const TensorView& to, bool to_device);

// Fill `weight` (and move `bias` to the GPU) from float32 values in the host's memory. in, out,
// size, storage and the folded bias are set.
void PackLinear(std::span<const float> weight, std::span<const float> out_scale,
                LinearWeights::Packed& packed);
void PackConv(std::span<const float> weight, ConvWeights::Packed& packed);

void Linear(Context& context, const TensorView& x, const LinearWeights::Packed& weights,
            LinearEpilogue epilogue, const TensorView& y);
void Conv2d(Context& context, const TensorView& x, const ConvWeights::Packed& weights,
            ConvEpilogue epilogue, const TensorView& y);
void LayerNorm(Context& context, const TensorView& x, const TensorView& gamma,
               const TensorView& beta, float eps, const TensorView& y);
// As type `result`, in place; k and v to `destination` if it is not null.
void NormRotate(Context& context, const Qkv& qkv, const HeadNorm& q_norm, const HeadNorm& k_norm,
                const RotaryTable& table, const KvDestination* destination, DType result);
// x, contiguous, becomes another type of the same size.
void ConvertInPlace(Context& context, const TensorView& x, DType result);
void SetTimeAngles(Context& context, const float* angles, int64_t frames, int64_t pairs,
                   const RotaryTable& table);
// Adds the position map if `across` is not null.
void ResizeBilinear(Context& context, const TensorView& x, const TensorView* across,
                    const TensorView* down, const TensorView& y);

void Relu(Context& context, const TensorView& x);
void Add(Context& context, const TensorView& x, const TensorView& y);
void Silu(Context& context, const TensorView& x);
void CopyRows(Context& context, const TensorView& x, const TensorView& y);
void AddRows(Context& context, const TensorView& table, const TensorView& y);
void AddPositionMap(Context& context, const TensorView& across, const TensorView& down,
                    const TensorView& x);
void ExtractPatches(Context& context, const TensorView& image, int patch, const float* mean,
                    const float* deviation, const TensorView& out);
void DepthToSpace(Context& context, const TensorView& x, int size, const TensorView& y);
void PredictDepth(Context& context, const TensorView& x, const LinearWeights::Packed& weights,
                  const TensorView& depth, const TensorView& confidence);
void Modulate(Context& context, const TensorView& modulation, const TensorView& plain,
              const TensorView& normed, const TensorView& x);
void ActivatePose(Context& context, const TensorView& raw, const TensorView& poses);

AttentionBackend ResolveAttentionBackend(AttentionBackend wanted, const Setup& setup,
                                         int64_t head_dim);
AttentionBackend LastAttentionBackend(Context& context);
float QueryScale(AttentionBackend backend, int64_t head_dim);
size_t AttentionWorkspaceBytes(const Setup& setup, int64_t tokens, int64_t kv_tokens, int64_t heads,
                               int64_t head_dim);
size_t PagedAttentionInputBytes(const Setup& setup, const ops::PagedLimits& limits);
void ReservePagedAttention(Context& context, AttentionBackend backend,
                           const ops::PagedLimits& limits);
uint64_t PlanPagedAttention(Context& context, AttentionBackend backend, const ops::PagedStep& step);
void PagedAttention(Context& context, AttentionBackend backend, const TensorView& q,
                    const PagedKvView& kv, float score_bound, const TensorView& out);
void FrameAttention(Context& context, AttentionBackend backend, int64_t frames, const TensorView& q,
                    const TensorView& k, const TensorView& v, float score_bound, bool prescaled,
                    const TensorView& out);
void EntryAttention(Context& context, const TensorView& q, const EntryKv& kv,
                    const TensorView& out);

// See ops/gpu_memory.h.
void StoreEntries(Context& context, const TensorView& k, const TensorView& v, float* k_entries,
                  float* v_entries, int64_t stride, const int32_t* first);
void FillBytes(Context& context, void* target, int value, size_t bytes) noexcept;
void MoveRows(Context& context, std::span<std::byte* const> planes, size_t row_bytes,
              std::span<const int64_t> from, std::span<const int64_t> to) noexcept;

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_BACKEND_H_
