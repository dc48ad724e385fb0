#include "base/check.h"
#include "ops/cuda/backend.h"

// The twin of the CUDA back end for builds without it. No context of a GPU can be made, so nothing
// but MakeState can be reached.
namespace lingbot::ops {

void DeleteCudaState::operator()(CudaState*) const {}

namespace cuda {
namespace {

[[noreturn]] void Refuse() {
  Fail(ErrorCode::kUnavailable,
       "this build has no CUDA support; configure with -DLINGBOT_CUDA=ON where the CUDA toolkit is "
       "installed, or use --device cpu");
}

}  // namespace

std::unique_ptr<CudaState, DeleteCudaState> MakeState(const Setup&) { Refuse(); }
size_t LibraryWorkspaceBytes() { Refuse(); }
void Activate(Context&) { Refuse(); }
bool RunStep(Context&, uint64_t, bool, const std::function<void()>&) { Refuse(); }
void UploadStepInputs(Context&) { Refuse(); }
void Synchronize(Context&) { Refuse(); }
void MarkStage(Context&, int) { Refuse(); }
void MarkStep(Context&, bool) { Refuse(); }
void CollectStages(Context&, std::span<double>) { Refuse(); }
void Transfer(Context&, const TensorView&, const TensorView&, bool) { Refuse(); }
void PackLinear(std::span<const float>, std::span<const float>, LinearWeights::Packed&) {
  Refuse();
}
void PackConv(std::span<const float>, ConvWeights::Packed&) { Refuse(); }
void Linear(Context&, const TensorView&, const LinearWeights::Packed&, LinearEpilogue,
            const TensorView&) {
  Refuse();
}
void Conv2d(Context&, const TensorView&, const ConvWeights::Packed&, ConvEpilogue,
            const TensorView&) {
  Refuse();
}
void LayerNorm(Context&, const TensorView&, const TensorView&, const TensorView&, float,
               const TensorView&) {
  Refuse();
}
void NormRotate(Context&, const Qkv&, const HeadNorm&, const HeadNorm&, const RotaryTable&,
                const KvDestination*, DType) {
  Refuse();
}
void ConvertInPlace(Context&, const TensorView&, DType) { Refuse(); }
void SetTimeAngles(Context&, const float*, int64_t, int64_t, const RotaryTable&) { Refuse(); }
void ResizeBilinear(Context&, const TensorView&, const TensorView*, const TensorView*,
                    const TensorView&) {
  Refuse();
}
void Relu(Context&, const TensorView&) { Refuse(); }
void Add(Context&, const TensorView&, const TensorView&) { Refuse(); }
void Silu(Context&, const TensorView&) { Refuse(); }
void CopyRows(Context&, const TensorView&, const TensorView&) { Refuse(); }
void AddRows(Context&, const TensorView&, const TensorView&) { Refuse(); }
void AddPositionMap(Context&, const TensorView&, const TensorView&, const TensorView&) { Refuse(); }
void ExtractPatches(Context&, const TensorView&, int, const float*, const float*,
                    const TensorView&) {
  Refuse();
}
void DepthToSpace(Context&, const TensorView&, int, const TensorView&) { Refuse(); }
void PredictDepth(Context&, const TensorView&, const LinearWeights::Packed&, const TensorView&,
                  const TensorView&) {
  Refuse();
}
void Modulate(Context&, const TensorView&, const TensorView&, const TensorView&,
              const TensorView&) {
  Refuse();
}
void ActivatePose(Context&, const TensorView&, const TensorView&) { Refuse(); }
AttentionBackend ResolveAttentionBackend(AttentionBackend, const Setup&, int64_t) { Refuse(); }
AttentionBackend LastAttentionBackend(Context&) { Refuse(); }
size_t AttentionWorkspaceBytes(const Setup&, int64_t, int64_t, int64_t, int64_t) { Refuse(); }
size_t PagedAttentionInputBytes(const Setup&, const PagedLimits&) { Refuse(); }
void ReservePagedAttention(Context&, AttentionBackend, const PagedLimits&) { Refuse(); }
uint64_t PlanPagedAttention(Context&, AttentionBackend, const PagedStep&) { Refuse(); }
void PagedAttention(Context&, AttentionBackend, const TensorView&, const PagedKvView&, float,
                    const TensorView&) {
  Refuse();
}
void FrameAttention(Context&, AttentionBackend, int64_t, const TensorView&, const TensorView&,
                    const TensorView&, float, bool, const TensorView&) {
  Refuse();
}
float QueryScale(AttentionBackend, int64_t) { Refuse(); }
void EntryAttention(Context&, const TensorView&, const EntryKv&, const TensorView&) { Refuse(); }
void StoreEntries(Context&, const TensorView&, const TensorView&, float*, float*, int64_t,
                  const int32_t*) {
  Refuse();
}
void FillBytes(Context&, void*, int, size_t) noexcept {}
void MoveRows(Context&, std::span<std::byte* const>, size_t, std::span<const int64_t>,
              std::span<const int64_t>) noexcept {}

}  // namespace cuda
}  // namespace lingbot::ops
