#include "ops/cuda/state.h"

#include <utility>

#include "ops/cuda/backend.h"
#include "ops/cuda/check.h"
#include "tensor/device_memory.h"

namespace lingbot::ops {
namespace {

// Steps whose launches still change (a growing window, say) leave an entry each that is never used
// again.
constexpr size_t kMostRecordings = 64;

cudaStream_t MakeStream(int ordinal) {
  UseCudaDevice(ordinal);
  cudaStream_t stream = nullptr;
  cuda::CheckCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

}  // namespace

CudaState::CudaState(const Setup& setup)
    : ordinal_(setup.ordinal),
      stream_(MakeStream(setup.ordinal)),
      workspace_(DType::kU8, {static_cast<int64_t>(kWorkspaceBytes)}, MemoryKind::kCuda),
      linears_(workspace_.view().raw(), kWorkspaceBytes),
      convolutions_(workspace_.view().raw(), kWorkspaceBytes),
      attention_(stream_, workspace_.view().raw(), kWorkspaceBytes) {}

CudaState::~CudaState() {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(stream_);
  for (auto& [key, recording] : recordings_) Forget(recording);
  for (const Mark& mark : eager_marks_) cudaEventDestroy(mark.event);
  for (cudaEvent_t event : ends_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  cudaStreamDestroy(stream_);
}

void CudaState::Forget(Recording& recording) {
  if (recording.graph != nullptr) cudaGraphExecDestroy(recording.graph);
  for (const Mark& mark : recording.marks) cudaEventDestroy(mark.event);
  recording = {};
}

void CudaState::DropUnrecorded() {
  for (auto entry = recordings_.begin(); entry != recordings_.end();) {
    entry = entry->second.graph == nullptr ? recordings_.erase(entry) : std::next(entry);
  }
  if (recordings_.size() < kMostRecordings) return;
  for (auto& [key, recording] : recordings_) Forget(recording);
  recordings_.clear();
}

bool CudaState::Run(uint64_t key, bool replay, const std::function<void()>& body) {
  used_marks_ = 0;
  last_marks_ = &eager_marks_;
  if (!replay) {
    body();
    return true;
  }
  if (recordings_.size() >= kMostRecordings) DropUnrecorded();
  Recording& recording = recordings_[key];
  // The first run is not recorded: libraries load kernels and choose algorithms then.
  if (recording.runs++ == 0) {
    body();
    return true;
  }
  const bool record = recording.graph == nullptr;
  if (record) Record(recording, body);
  cuda::CheckCuda(cudaGraphLaunch(recording.graph, stream_), "cudaGraphLaunch");
  last_marks_ = &recording.marks;
  return record;
}

void CudaState::Record(Recording& recording, const std::function<void()>& body) {
  cuda::CheckCuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                  "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  recording_marks_ = &recording.marks;
  try {
    body();
  } catch (...) {
    recording_marks_ = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  recording_marks_ = nullptr;
  cuda::CheckCuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&recording.graph, graph, 0);
  cudaGraphDestroy(graph);
  cuda::CheckCuda(status, "cudaGraphInstantiate");
}

const std::array<cudaEvent_t, 2>& CudaState::ends() {
  for (cudaEvent_t& event : ends_) {
    if (event == nullptr) cuda::CheckCuda(cudaEventCreate(&event), "cudaEventCreate");
  }
  return ends_;
}

void CudaState::AddMark(int stage) {
  if (recording_marks_ != nullptr) {
    Mark mark{nullptr, stage};
    cuda::CheckCuda(cudaEventCreate(&mark.event), "cudaEventCreate");
    recording_marks_->push_back(mark);
    cuda::CheckCuda(cudaEventRecordWithFlags(mark.event, stream_, cudaEventRecordExternal),
                    "cudaEventRecord");
    return;
  }
  if (used_marks_ == eager_marks_.size()) {
    Mark mark;
    cuda::CheckCuda(cudaEventCreate(&mark.event), "cudaEventCreate");
    eager_marks_.push_back(mark);
  }
  Mark& mark = eager_marks_[used_marks_++];
  mark.stage = stage;
  cuda::CheckCuda(cudaEventRecord(mark.event, stream_), "cudaEventRecord");
}

void DeleteCudaState::operator()(CudaState* state) const { delete state; }

namespace cuda {

std::unique_ptr<CudaState, DeleteCudaState> MakeState(const Setup& setup) {
  return std::unique_ptr<CudaState, DeleteCudaState>(new CudaState(setup));
}

size_t LibraryWorkspaceBytes() { return CudaState::kWorkspaceBytes; }

void Activate(Context& context) { UseCudaDevice(context.cuda().ordinal()); }

bool RunStep(Context& context, uint64_t key, bool replay, const std::function<void()>& body) {
  return context.cuda().Run(key, replay, body);
}

void UploadStepInputs(Context& context) {
  const MirroredMemory& inputs = context.step_inputs();
  CheckCuda(cudaMemcpyAsync(inputs.device(), inputs.host(), inputs.used(), cudaMemcpyHostToDevice,
                            context.cuda().stream()),
            "the copy of a step's inputs");
  context.cuda().attention().Upload();
}

void Synchronize(Context& context) {
  CheckCuda(cudaStreamSynchronize(context.cuda().stream()), "the step's kernels");
}

void MarkStage(Context& context, int stage) { context.cuda().AddMark(stage); }

void MarkStep(Context& context, bool begin) {
  CudaState& state = context.cuda();
  CheckCuda(cudaEventRecord(state.ends()[begin ? 0 : 1], state.stream()), "cudaEventRecord");
}

void CollectStages(Context& context, std::span<double> milliseconds) {
  const std::span<const CudaState::Mark> marks = context.cuda().marks();
  if (marks.empty()) return;
  const auto between = [](cudaEvent_t first, cudaEvent_t second) {
    float elapsed = 0.0f;
    CheckCuda(cudaEventElapsedTime(&elapsed, first, second), "cudaEventElapsedTime");
    return static_cast<double>(elapsed);
  };
  const auto& ends = context.cuda().ends();
  milliseconds.back() +=
      between(ends[0], marks.front().event) + between(marks.back().event, ends[1]);
  for (size_t i = 0; i + 1 < marks.size(); ++i) {
    const int stage = marks[i].stage;
    if (stage < 0) continue;
    milliseconds[stage] += between(marks[i].event, marks[i + 1].event);
  }
}

void Transfer(Context& context, const TensorView& from, const TensorView& to, bool to_device) {
  const size_t bytes = static_cast<size_t>(from.elements()) * SizeOf(from.dtype());
  CheckCuda(cudaMemcpyAsync(to.raw(), from.raw(), bytes,
                            to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                            context.cuda().stream()),
            to_device ? "a copy to the GPU" : "a copy from the GPU");
}

}  // namespace cuda
}  // namespace lingbot::ops
