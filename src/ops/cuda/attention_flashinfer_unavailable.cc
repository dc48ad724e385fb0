// Stands in for the FlashInfer back ends in builds without FlashInfer or without an architecture
// that they run on.
#include "base/check.h"
#ifndef LINGBOT_HAS_FA2
#include "ops/cuda/attention_fa2.h"
#endif
#ifndef LINGBOT_HAS_FA3
#include "ops/cuda/attention_fa3.h"
#endif

namespace lingbot::ops::cuda {
namespace {

[[maybe_unused, noreturn]] void FailNotBuilt(const char* name) {
  Fail(ErrorCode::kUnavailable,
       "attention back end {} is not in this build: fetch FlashInfer with scripts/setup.sh --cuda, "
       "configure again and build, or choose another back end",
       name);
}

}  // namespace

#ifndef LINGBOT_HAS_FA2
struct Fa2Paged::Impl {};
struct Fa2Frames::Impl {};
bool Fa2Built() { return false; }
bool Fa2Supported() { return false; }
Fa2Paged::Fa2Paged(const PagedLimits&) { FailNotBuilt("flashinfer"); }
Fa2Paged::~Fa2Paged() = default;
void Fa2Paged::Plan(const PagedStep&) { FailNotBuilt("flashinfer"); }
void Fa2Paged::Upload(CudaStream) { FailNotBuilt("flashinfer"); }
void Fa2Paged::Run(const PagedCall&, CudaStream) const { FailNotBuilt("flashinfer"); }
uint64_t Fa2Paged::signature() const { return 0; }
uint64_t Fa2Paged::DeviceMemory(const PagedLimits&, int) { return 0; }
Fa2Frames::Fa2Frames(const FrameShape&) { FailNotBuilt("flashinfer"); }
Fa2Frames::~Fa2Frames() = default;
void Fa2Frames::Run(const FrameCall&, CudaStream) const { FailNotBuilt("flashinfer"); }
#endif

#ifndef LINGBOT_HAS_FA3
struct Fa3Paged::Impl {};
struct Fa3Frames::Impl {};
bool Fa3Built() { return false; }
bool Fa3Supported() { return false; }
Fa3Paged::Fa3Paged(const PagedLimits&) { FailNotBuilt("flashinfer-fa3"); }
Fa3Paged::~Fa3Paged() = default;
void Fa3Paged::Plan(const PagedStep&) { FailNotBuilt("flashinfer-fa3"); }
void Fa3Paged::Upload(CudaStream) { FailNotBuilt("flashinfer-fa3"); }
void Fa3Paged::Run(const PagedCall&, CudaStream) const { FailNotBuilt("flashinfer-fa3"); }
uint64_t Fa3Paged::signature() const { return 0; }
uint64_t Fa3Paged::DeviceMemory(const PagedLimits&, int) { return 0; }
Fa3Frames::Fa3Frames(const FrameShape&) { FailNotBuilt("flashinfer-fa3"); }
Fa3Frames::~Fa3Frames() = default;
void Fa3Frames::Run(const FrameCall&, CudaStream) const { FailNotBuilt("flashinfer-fa3"); }
#endif

}  // namespace lingbot::ops::cuda
