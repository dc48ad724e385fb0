#include "bench/stream_bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "base/system_memory.h"
#include "bench/measure.h"
#include "bench/raw_matmul.h"
#include "bench/stage_times.h"
#include "bench/statistics.h"
#include "engine/memory_plan.h"
#include "engine/model_impl.h"
#include "tensor/device_memory.h"
#include "tools/hashed_model.h"

namespace lingbot {
namespace {

constexpr int64_t kMostFrames = 10'000'000;

// Fills `frame` with colours that depend on its number alone.
void FillFrame(int64_t number, std::vector<float>& frame) {
  uint32_t state = static_cast<uint32_t>(number) * 2654435761u + 1u;
  for (float& value : frame) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f;
  }
}

// The matrix library's rate at the four products of a block, operations per second.
double RawRate(const ModelInfo& model, int threads, int64_t rows) {
  constexpr double kSeconds = 0.2;
  const int64_t c = model.embed_dim;
  const DType dtype = ops::HasNativeBFloat16() ? StorageOf(model.precision) : DType::kF32;
  ops::Context context(threads, 0);
  double operations = 0.0;
  double seconds = 0.0;
  for (const ProductShape& shape :
       {ProductShape{rows, c, 3 * c}, ProductShape{rows, c, c},
        ProductShape{rows, c, model.mlp_ratio * c}, ProductShape{rows, model.mlp_ratio * c, c}}) {
    operations += shape.operations();
    const WeightLayout layout = FastestLayout(context, shape, dtype);
    seconds += Measure(RawMatmul(context, shape, dtype, layout), kSeconds).best;
  }
  return operations / seconds;
}

// Feeds a session and keeps what it says. All memory is taken before the first frame, so that the
// process's growth is the session's.
class Recorder {
 public:
  // gpu_before: bytes of the GPU that were free before anything was taken; 0 on the CPU.
  Recorder(const Model& model, const StreamOptions& options, uint64_t gpu_before)
      : frames_(options.frames),
        started_(options.started),
        gpu_before_(gpu_before),
        session_(model, options.height, options.width, options.session),
        image_(size_t{3} * options.height * options.width),
        times_(static_cast<size_t>(frames_)),
        processor_(static_cast<size_t>(frames_)) {}

  void Run(StreamReport& report) {
    const std::vector<FrameRange> ranges = MarkedRanges(frames_, report.scale_frames);
    report.marks.reserve(ranges.size());
    size_t next = 0;
    for (int64_t frame = 0; frame < frames_; ++frame) {
      Step(frame);
      if (next < ranges.size() && ranges[next].end == frame + 1) {
        report.marks.push_back(MarkAt(ranges[next++]));
      }
    }
    session_.Finish(callback_);
    if (frames_ < report.scale_frames) report.scale_step = session_.last_step();
    Conclude(report);
  }

 private:
  void Step(int64_t frame) {
    FillFrame(frame, image_);
    const double start = ProcessorSeconds();
    session_.Add(image_, callback_);
    processor_[frame] = 1e3 * (ProcessorSeconds() - start);
    times_[frame] = session_.last_step();
  }

  uint64_t GpuMemory() const { return gpu_before_ > 0 ? gpu_before_ - FreeCudaMemory() : 0; }

  void See(const FrameResult& result) {
    if (result.index == 0) first_pose_ = std::chrono::steady_clock::now();
    hash_.Add(result.pose);
    hash_.Add(result.depth);
    hash_.Add(result.confidence);
    const bool thinned = result.cache.special_tokens < result.cache.stored_frames * kSpecialTokens;
    if (thinned && thinned_at_ == 0) thinned_at_ = result.index + 1;
  }

  StreamMark MarkAt(const FrameRange& range) const {
    const auto size = static_cast<size_t>(range.end - range.begin);
    const std::span<const StageTimes> times(times_.data() + range.begin, size);
    StreamMark mark;
    mark.frame = range.end;
    mark.window = range.end - range.begin;
    mark.median = QuantileOf(times, 0.5);
    mark.p99 = QuantileOf(times, 0.99);
    const auto first = processor_.begin() + range.begin;
    mark.processor = Quantile({first, first + mark.window}, 0.5);
    mark.resident = ResidentMemory();
    mark.gpu = GpuMemory();
    mark.cache = session_.occupancy();
    return mark;
  }

  void Conclude(StreamReport& report) const {
    report.resident = ResidentMemory();
    report.peak_resident = PeakResidentMemory();
    report.attention = session_.attention();
    report.plan = session_.memory_plan();
    report.cache = session_.occupancy();
    report.hash = hash_.value();
    report.thinned_at = thinned_at_;
    report.first_pose_seconds = std::chrono::duration<double>(first_pose_ - started_).count();
    if (frames_ >= report.scale_frames) report.scale_step = times_[report.scale_frames - 1];
  }

  int64_t frames_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point first_pose_;
  uint64_t gpu_before_;
  Session session_;
  std::vector<float> image_;       // [3, height, width]
  std::vector<StageTimes> times_;  // [frames]
  std::vector<double> processor_;  // [frames], milliseconds
  BitHash hash_;
  int64_t thinned_at_ = 0;
  ResultCallback callback_ = [this](const FrameResult& result) { See(result); };
};

// Rate of the products with weights, as if the stages that hold them did nothing else.
double LinearRate(const StreamReport& report) {
  const StageTimes& times = report.marks.back().median;
  const double milliseconds = times.tokens + times.frame_blocks + times.global_other;
  return milliseconds > 0.0 ? report.linear_operations / (milliseconds * 1e-3) : 0.0;
}

}  // namespace

StreamReport BenchStream(const nlohmann::json& config, const StreamOptions& options) {
  Check(options.frames >= 1 && options.frames <= kMostFrames, ErrorCode::kInvalidArgument,
        "frames must be between 1 and {}; got {}", kMostFrames, options.frames);
  StreamOptions settled = options;
  settled.session.expected_frames = options.frames;
  const HashedWeights weights = MakeHashedModel(config, options.session.threads);
  ModelOptions model_options;
  model_options.spare_gpu_stack = true;
  model_options.device = options.device;
  model_options.device_ordinal = options.device_ordinal;
  model_options.precision = options.precision;
  model_options.threads = options.session.threads;
  model_options.log = options.session.log;
  const ModelInfo info = DescribeModel(weights, model_options);
  const StreamPlan plan = PlanStream(info, options.height, options.width, settled.session);
  CheckMemory(info, options.height, options.width, settled.session);

  uint64_t gpu_before = 0;
  if (info.device == DeviceKind::kCuda) {
    UseCudaDevice(info.device_ordinal);
    gpu_before = TotalCudaMemory();
  }
  StreamReport report;
  report.machine = DescribeMachine();
  report.threads = plan.setup.threads;
  report.height = options.height;
  report.width = options.width;
  report.scale_frames = plan.scale_frames;
  report.sliding_window = plan.sliding_window;
  report.linear_operations = LinearOperations(info, plan.grid);
  // Beside a GPU's stream the processor's matrix library says nothing.
  const auto raw_rate = [&] {
    return plan.setup.on_gpu() ? 0.0 : RawRate(info, plan.setup.threads, plan.grid.tokens());
  };
  const double before = raw_rate();
  std::optional<Model> model;
  report.load_seconds = SecondsOf([&] { model = MakeModel(weights, model_options); });
  report.model = model->info();
  std::optional<Recorder> recorder;
  report.session_seconds = SecondsOf([&] { recorder.emplace(*model, settled, gpu_before); });
  recorder->Run(report);
  report.frame_tokens = static_cast<double>(plan.grid.tokens());
  report.visible_tokens = static_cast<double>(
      (report.cache.scale_pages + report.cache.window_pages) * plan.grid.patches() +
      report.cache.special_tokens);
  report.raw_rate = std::max(before, raw_rate());
  if (!report.marks.empty()) report.linear_rate = LinearRate(report);
  return report;
}

}  // namespace lingbot
