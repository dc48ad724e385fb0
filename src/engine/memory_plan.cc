#include "engine/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/system_memory.h"
#include "engine/model_impl.h"
#include "tensor/device_memory.h"

namespace lingbot {
namespace {

constexpr int kLargestSide = 16384;     // pixels
constexpr int kMostFrames = 1 << 20;    // of any count in the options
constexpr int kMostScaleFrames = 1024;  // processed together
constexpr int kMostCameraIterations = 64;
// What CUDA takes besides what we ask for, measured on an H200 with a spared stack: the context
// itself, and the libraries' handles, loaded kernels, recorded steps and rounding to granules.
constexpr uint64_t kCudaContext = 280'000'000;
constexpr uint64_t kCudaKernels = 180'000'000;

int InRange(const char* option, int64_t value, int64_t low, int64_t high) {
  Check(value >= low && value <= high, ErrorCode::kInvalidArgument,
        "{} must be between {} and {}; got {}", option, low, high, value);
  return static_cast<int>(value);
}

// `value` if set, else the model's own.
int OrDefault(const char* option, int value, int fallback, int high) {
  return InRange(option, value == 0 ? fallback : value, 1, high);
}

PatchGrid GridOf(const ModelInfo& model, int height, int width) {
  const int patch = model.patch_size;
  InRange("height", height, patch, kLargestSide);
  InRange("width", width, patch, kLargestSide);
  Check(height % patch == 0 && width % patch == 0, ErrorCode::kInvalidArgument,
        "a frame of {}x{} pixels: height and width must be multiples of the patch size {}", width,
        height, patch);
  return {height / patch, width / patch, kSpecialTokens};
}

// Frames that a stream comes to store at most (one more slot is used by frames that are not
// stored); 0 = unknown.
int64_t StoredFrames(const SessionOptions& options, int scale_frames) {
  const int64_t n = options.expected_frames;
  if (n <= scale_frames) return n;
  if (options.keyframe_motion > 0) return n + 1;  // any number of them
  const int64_t interval = options.keyframe_interval;
  const int64_t stored = scale_frames + (n - scale_frames + interval - 1) / interval;
  return interval == 1 ? stored : stored + 1;
}

void CheckMotion(const SessionOptions& options) {
  InRange("keyframe_max_gap", options.keyframe_max_gap, 1, kMostFrames);
  const double motion = options.keyframe_motion;
  Check(std::isfinite(motion) && motion >= 0, ErrorCode::kInvalidArgument,
        "keyframe_motion is a fraction of the image's width, 0 or a positive number; got {}",
        motion);
  Check(
      motion == 0 || options.keyframe_interval == 1, ErrorCode::kInvalidArgument,
      "keyframe_motion ({}) and keyframe_interval ({}) exclude each other: by motion, no interval "
      "decides which frames are stored",
      motion, options.keyframe_interval);
}

KvCacheConfig CacheConfigOf(const ModelInfo& model, const StreamPlan& plan,
                            const SessionOptions& options) {
  KvCacheConfig cache;
  cache.blocks = model.depth;
  cache.page_size = plan.grid.patches();
  cache.specials_per_frame = kSpecialTokens;
  cache.heads = model.num_heads;
  cache.head_dim = model.embed_dim / model.num_heads;
  cache.dtype = StorageOf(model.precision);
  cache.layout = options.kv_layout;
  cache.scale_frames = plan.scale_frames;
  cache.sliding_window = plan.sliding_window;
  cache.trajectory_frames = InRange("trajectory_frames", options.trajectory_frames, 1, kMostFrames);
  cache.expected_frames = plan.stored_frames;
  cache.strict = options.strict;
  cache.poison = options.poison_cache;
  cache.camera.passes = plan.camera_iterations;
  cache.camera.blocks = model.camera_depth;
  cache.camera.heads = model.camera_heads;
  cache.camera.head_dim = 2 * int64_t{model.embed_dim} / model.camera_heads;
  cache.log = options.log;
  return cache;
}

int64_t ScaleStepFrames(const StreamPlan& plan, const SessionOptions& options) {
  return options.expected_frames > 0 ? std::min<int64_t>(plan.scale_frames, options.expected_frames)
                                     : plan.scale_frames;
}

// The larger of the scale step and a streaming step with everything visible that can be.
size_t WorkspaceBytes(const ModelInfo& model, const StreamPlan& plan,
                      const SessionOptions& options) {
  const ModelConfig config = ConfigOf(model);
  const int64_t tokens = plan.grid.tokens();
  const int64_t entries = int64_t{plan.cache.trajectory_frames} + 1;
  const int64_t pages = int64_t{plan.scale_frames} + plan.sliding_window + 1;
  const int64_t visible = pages * plan.grid.patches() + entries * kSpecialTokens;
  size_t most = 0;
  for (const int64_t frames : {ScaleStepFrames(plan, options), int64_t{1}}) {
    const int64_t kv_tokens = frames > 1 ? frames * tokens : visible;
    const size_t kept =
        Arena::BytesFor(DType::kF32, frames * 2 * config.embed_dim) +
        static_cast<size_t>(frames) * DepthHead::FeatureBytes(config, plan.setup, plan.grid);
    const size_t aggregator =
        Aggregator::WorkspaceBytes(config, plan.setup, plan.grid, frames, kv_tokens,
                                   DepthHead::ReassemblyBytes(config, plan.setup, plan.grid));
    most = std::max(
        most, kept + std::max({aggregator,
                               CameraHead::WorkspaceBytes(config, plan.setup, frames, entries),
                               DepthHead::WorkspaceBytes(config, plan.setup, plan.grid)}));
  }
  return most;
}

}  // namespace

ops::PagedLimits PagedLimitsOf(const StreamPlan& plan) {
  const KvCacheConfig& cache = plan.cache;
  ops::PagedLimits limits;
  limits.blocks = cache.blocks;
  limits.queries = int64_t{plan.scale_frames} * plan.grid.tokens();
  const int64_t patch_pages = int64_t{plan.scale_frames} + plan.sliding_window + 1;
  const int64_t specials = (int64_t{cache.trajectory_frames} + 1) * kSpecialTokens;
  limits.tokens = patch_pages * cache.page_size + specials;
  limits.pages = patch_pages + (specials + cache.page_size - 1) / cache.page_size;
  limits.page_size = cache.page_size;
  limits.heads = cache.heads;
  limits.head_dim = cache.head_dim;
  return limits;
}

StreamPlan PlanStream(const ModelInfo& model, int height, int width,
                      const SessionOptions& options) {
  StreamPlan plan;
  plan.height = height;
  plan.width = width;
  plan.grid = GridOf(model, height, width);
  plan.scale_frames =
      OrDefault("scale_frames", options.scale_frames, model.scale_frames, kMostScaleFrames);
  plan.sliding_window =
      OrDefault("sliding_window", options.sliding_window, model.sliding_window, kMostFrames);
  plan.camera_iterations = OrDefault("camera_iterations", options.camera_iterations,
                                     model.camera_iterations, kMostCameraIterations);
  InRange("keyframe_interval", options.keyframe_interval, 1, kMostFrames);
  CheckMotion(options);
  Check(options.expected_frames >= 0, ErrorCode::kInvalidArgument,
        "expected_frames must not be negative; got {}", options.expected_frames);
  plan.setup = SetupOf(model, options.threads);
  plan.setup.attention = ResolveAttention(model, options);
  plan.graph = options.graph;
  plan.stage_times = options.stage_times;
  plan.stored_frames = StoredFrames(options, plan.scale_frames);
  plan.cache = CacheConfigOf(model, plan, options);
  plan.workspace_bytes = WorkspaceBytes(model, plan, options);
  plan.step_input_bytes = KvCache::StepInputBytes(plan.cache) +
                          Aggregator::StepInputBytes(ConfigOf(model), plan.scale_frames) +
                          ops::PagedAttentionInputBytes(plan.setup, PagedLimitsOf(plan));
  return plan;
}

MemoryPlan MemoryOf(const StreamPlan& plan, const ModelInfo& model, const SessionOptions& options) {
  MemoryPlan memory;
  memory.weights =
      model.weight_bytes > 0 ? model.weight_bytes : WeightBytes(ConfigOf(model), model.precision);
  const CacheBytes cache = KvCache::PlanBytes(plan.cache, plan.stored_frames);
  memory.patch_cache = cache.patch_pages;
  memory.specials = cache.specials;
  memory.camera_cache = cache.camera;
  memory.workspace =
      plan.workspace_bytes + plan.step_input_bytes + ops::LibraryWorkspaceBytes(plan.setup);
  if (plan.setup.on_gpu()) memory.runtime = kCudaContext + kCudaKernels;
  const uint64_t pixels = uint64_t{1} * plan.height * plan.width;
  const uint64_t per_frame = pixels * (3 + 2) * sizeof(float);  // colours in; depth, confidence out
  memory.results = per_frame * static_cast<uint64_t>(ScaleStepFrames(plan, options));
  return memory;
}

AttentionBackend ResolveAttention(const ModelInfo& model, const SessionOptions& options) {
  return ops::ResolveAttentionBackend(options.attention, SetupOf(model, options.threads),
                                      model.embed_dim / model.num_heads);
}

MemoryPlan PlanMemory(const ModelInfo& model, int height, int width,
                      const SessionOptions& options) {
  return MemoryOf(PlanStream(model, height, width, options), model, options);
}

namespace {

// One way to run that differs from what was asked for.
struct Setting {
  std::string text;
  ModelInfo model;
  int height, width;
  SessionOptions options;
};

// What a setting may need.
struct Room {
  uint64_t bytes = 0;
  bool limited = false;  // a limit of the whole process, not what is free
  bool loaded = false;   // the weights are in memory
};

// What counts against the room. Against a limit everything does; against what is free, what is not
// allocated yet: not weights that are loaded, nor a GPU's context, which asking the GPU makes.
uint64_t NeededBytes(const MemoryPlan& plan, const Room& room) {
  if (room.limited) return plan.total();
  return (room.loaded ? plan.session() : plan.total()) - std::min(plan.runtime, kCudaContext);
}

bool Fits(const Setting& setting, const Room& room) {
  const MemoryPlan plan = PlanMemory(setting.model, setting.height, setting.width, setting.options);
  return NeededBytes(plan, room) <= room.bytes;
}

std::optional<Setting> WithWindow(Setting setting, const Room& room) {
  const int window =
      PlanStream(setting.model, setting.height, setting.width, setting.options).sliding_window;
  for (const int smaller : {48, 32, 24, 16, 12, 8, 4, 2, 1}) {
    if (smaller >= window) continue;
    setting.options.sliding_window = smaller;
    if (!Fits(setting, room)) continue;
    setting.text += fmt::format("window {}", smaller);
    return setting;
  }
  return std::nullopt;
}

std::optional<Setting> WithSize(Setting setting, const Room& room) {
  const int patch = setting.model.patch_size;
  const double aspect = static_cast<double>(setting.height) / setting.width;
  for (int columns = setting.width / patch - 1; columns >= 1; --columns) {
    const int rows = std::max(1, static_cast<int>(columns * aspect + 0.5));
    setting.width = columns * patch;
    setting.height = rows * patch;
    if (!Fits(setting, room)) continue;
    setting.text +=
        fmt::format("image size {} ({}x{})", setting.width, setting.width, setting.height);
    return setting;
  }
  return std::nullopt;
}

// Up to three settings that fit, the least painful first.
std::vector<std::string> SettingsThatFit(const Setting& wanted, const Room& room) {
  std::vector<std::string> texts;
  const auto add = [&](const std::optional<Setting>& setting) {
    if (setting && texts.size() < 3) texts.push_back(setting->text);
  };
  Setting narrow = wanted;
  const bool can_narrow =
      (room.limited || !room.loaded) && wanted.model.precision == Precision::kFloat32;
  if (can_narrow) {
    narrow.model.precision = Precision::kBFloat16;
    narrow.text = "precision bf16";
    if (Fits(narrow, room)) add(narrow);
    narrow.text += " with ";
  }
  add(WithWindow(wanted, room));
  add(WithSize(wanted, room));
  if (can_narrow) {
    add(WithWindow(narrow, room));
    add(WithSize(narrow, room));
  }
  for (const int window : {8, 16, 32, 4}) {
    if (texts.size() >= 3) break;
    Setting small = wanted;
    small.options.sliding_window = window;
    small.text = fmt::format("window {} with ", window);
    add(WithSize(small, room));
  }
  return texts;
}

std::string Describe(const MemoryPlan& plan) {
  return fmt::format(
      "weights {}, cache {} (patches {}, specials {}, camera {}), workspace {}, frames {}{}",
      FormatBytes(plan.weights), FormatBytes(plan.patch_cache + plan.specials + plan.camera_cache),
      FormatBytes(plan.patch_cache), FormatBytes(plan.specials), FormatBytes(plan.camera_cache),
      FormatBytes(plan.workspace), FormatBytes(plan.results),
      plan.runtime > 0 ? ", CUDA " + FormatBytes(plan.runtime) : "");
}

void CheckRoom(const ModelInfo& model, int height, int width, const SessionOptions& options,
               bool loaded) {
  const MemoryPlan plan = PlanMemory(model, height, width, options);
  const bool on_gpu = model.device == DeviceKind::kCuda;
  if (on_gpu) UseCudaDevice(model.device_ordinal);
  Room room;
  room.limited = options.memory_limit > 0;
  room.loaded = loaded;
  room.bytes = room.limited ? options.memory_limit : on_gpu ? FreeCudaMemory() : AvailableMemory();
  const uint64_t needed = NeededBytes(plan, room);
  if (room.bytes == 0 || needed <= room.bytes) return;
  std::string advice;
  for (const std::string& setting : SettingsThatFit({"", model, height, width, options}, room)) {
    advice += advice.empty() ? "; these would fit: " : "; ";
    advice += setting;
  }
  Fail(ErrorCode::kOutOfMemory, "{} frames of {}x{} need {} of {}memory ({}), but {} is {}{}",
       options.expected_frames > 0 ? std::to_string(options.expected_frames) : "a stream of", width,
       height, FormatBytes(needed), on_gpu ? "GPU " : "", Describe(plan), FormatBytes(room.bytes),
       room.limited ? "the limit" : "free",
       advice.empty() ? "; no window or image size of this model fits" : advice);
}

}  // namespace

void CheckMemory(const ModelInfo& model, int height, int width, const SessionOptions& options) {
  CheckRoom(model, height, width, options, /*loaded=*/false);
}

void CheckSessionMemory(const ModelInfo& model, int height, int width,
                        const SessionOptions& options) {
  CheckRoom(model, height, width, options, /*loaded=*/true);
}

}  // namespace lingbot
