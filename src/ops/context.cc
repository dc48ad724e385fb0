#include "ops/context.h"

#include <cstring>

#include "base/check.h"
#include "ops/cpu/state.h"
#include "ops/cuda/backend.h"

namespace lingbot::ops {

void CpuState::GrowScratch(size_t bytes) {
  if (bytes > scratch_.bytes()) {
    scratch_ = Buffer(DType::kU8, {static_cast<int64_t>(bytes)});
  }
}

Context::Context(int threads, size_t workspace_bytes)
    : Context(Setup{.threads = threads}, workspace_bytes, 0) {}

Context::Context(const Setup& setup, size_t workspace_bytes, size_t step_input_bytes)
    : setup_(setup),
      team_(setup.threads),
      cuda_(setup.on_gpu() ? cuda::MakeState(setup) : nullptr),
      arena_(workspace_bytes, setup.device),
      step_inputs_(setup.device, step_input_bytes),
      cpu_(std::make_unique<CpuState>()) {}

Context::~Context() = default;

size_t LibraryWorkspaceBytes(const Setup& setup) {
  return setup.on_gpu() ? cuda::LibraryWorkspaceBytes() : 0;
}

void Activate(Context& context) {
  if (context.setup().on_gpu()) cuda::Activate(context);
}

bool RunStep(Context& context, uint64_t key, bool replay, const std::function<void()>& body) {
  if (context.setup().on_gpu()) return cuda::RunStep(context, key, replay, body);
  body();
  return true;
}

void UploadStepInputs(Context& context) {
  if (context.setup().on_gpu()) cuda::UploadStepInputs(context);
}

void Synchronize(Context& context) {
  if (context.setup().on_gpu()) cuda::Synchronize(context);
}

namespace {

void Transfer(Context& context, const TensorView& from, const TensorView& to, bool to_device) {
  Check(from.shape() == to.shape() && from.dtype() == to.dtype() && from.contiguous() &&
            to.contiguous(),
        ErrorCode::kInternal, "transfer: {} and {} do not fit", from.shape(), to.shape());
  if (context.setup().on_gpu()) return cuda::Transfer(context, from, to, to_device);
  std::memcpy(to.raw(), from.raw(), static_cast<size_t>(from.elements()) * SizeOf(from.dtype()));
}

}  // namespace

void Upload(Context& context, const TensorView& host, const TensorView& device) {
  Transfer(context, host, device, true);
}

void Download(Context& context, const TensorView& device, const TensorView& host) {
  Transfer(context, device, host, false);
}

}  // namespace lingbot::ops
