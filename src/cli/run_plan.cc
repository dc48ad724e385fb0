#include "cli/run_plan.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/system_memory.h"
#include "base/xxhash64.h"
#include "cli/exit_code.h"
#include "cli/weights_hash.h"
#include "geometry/window_layout.h"
#include "output/run_folder.h"

namespace lingbot::cli {
namespace {

namespace fs = std::filesystem;

// Without links, dots and a slash at the end.
fs::path Resolved(const fs::path& path) {
  std::error_code problem;
  const fs::path resolved = fs::weakly_canonical(path, problem);
  return resolved.has_filename() ? resolved : resolved.parent_path();
}

// `path` is `folder` or lies below it; both resolved.
bool IsInside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Refuses what would destroy something: an input that an earlier run's clean-up would delete,
// results of hours, files of somebody else.
void CheckOutputFolder(const RunOptions& options) {
  const fs::path out(options.out);
  std::error_code problem;
  const bool is_path = options.input != "-" && options.input.find("://") == std::string::npos;
  Check(!is_path || !IsInside(Resolved(options.input), Resolved(out)), ErrorCode::kInvalidArgument,
        "the input {} lies in the output folder {}; choose another --out", options.input,
        options.out);
  if (!fs::exists(out, problem)) return;
  Check(fs::is_directory(out, problem), ErrorCode::kFileUnwritable,
        "the output {} is not a folder; choose another --out", options.out);
  const bool empty = fs::is_empty(out, problem);
  Check(!problem, ErrorCode::kFileUnwritable, "cannot look into the output folder {}: {}",
        options.out, problem.message());
  const bool earlier_run = IsRunFolder(out);
  Check(empty || options.output.overwrite || (options.resume && earlier_run),
        ErrorCode::kFileUnwritable,
        "the output folder {} holds {}; choose another --out, or add {}", options.out,
        earlier_run ? "an earlier run" : "other files",
        earlier_run ? "--overwrite to replace it, or --resume to go on with it"
                    : "--overwrite to write beside them");
}

SourceOptions SourceOptionsOf(const RunOptions& options, Console* console) {
  SourceOptions source;
  source.sampling = {options.start, options.end, options.frames_per_second, options.stride,
                     options.max_frames};
  source.skip_bad = options.skip_bad;
  source.format = options.input_format;
  source.width = options.input_width;
  source.height = options.input_height;
  source.rate = options.input_rate;
  source.timeout = options.timeout;
  source.log = [console](const std::string& line) { console->Warn(line); };
  return source;
}

// Resizing alone would blow a single pixel up to a whole frame; less than a patch shows nothing.
ResizeSize SizeInRun(const ImageSize& image, const PreprocessOptions& options,
                     const std::string& name) {
  Check(std::min(image.width, image.height) >= options.patch_size, ErrorCode::kInvalidArgument,
        "{}: {}x{} is too small: both sides need at least the {} pixels of a patch", name,
        image.width, image.height, options.patch_size);
  return ComputeResizeSize(image.width, image.height, options, name);
}

// The first usable image decides the size that all frames have. Counts those that have it.
void CheckFrameSizes(const std::vector<FrameInfo>& infos, bool skip, RunPlan* plan) {
  for (const FrameInfo& info : infos) {
    try {
      if (plan->frames == 0) {
        plan->size = SizeInRun(info.size, plan->preprocess, info.name);
        plan->first_name = info.name;
      }
      CheckFrameSize(*plan, info.size, info.name);
      plan->source_pixels =
          std::max(plan->source_pixels, int64_t{1} * info.size.width * info.size.height);
      ++plan->frames;
    } catch (const Error&) {
      if (!skip) throw;  // else said when its turn comes
    }
  }
  Check(plan->frames > 0, ErrorCode::kNoInput,
        "none of the {} images is large enough for image size {}; the first is {} ({}x{})",
        infos.size(), plan->preprocess.image_size, infos.front().name, infos.front().size.width,
        infos.front().size.height);
}

// Of a folder the names and sizes of all images, of a video its length and its first frame.
std::string FingerprintOf(const std::string& input, const std::vector<FrameInfo>& infos) {
  XxHash64 hash;
  for (const FrameInfo& info : infos) {
    hash.Add(info.name.c_str(), info.name.size() + 1);
    for (const int64_t number :
         {info.source_index, int64_t{info.size.width}, int64_t{info.size.height}}) {
      hash.Add(&number, sizeof(number));
    }
  }
  std::error_code ignored;
  const uint64_t bytes =
      fs::is_regular_file(input, ignored) ? uint64_t{fs::file_size(input, ignored)} : 0;
  hash.Add(&bytes, sizeof(bytes));
  return fmt::format("xxh64:{:016x}", hash.value());
}

void LookAtInput(const RunOptions& options, const ThreadTeam& team, Console* console,
                 RunPlan* plan) {
  plan->preprocess.image_size =
      options.image_size > 0 ? options.image_size : plan->checkpoint.model.img_size;
  plan->preprocess.patch_size = plan->checkpoint.model.patch_size;
  plan->preprocess.mode = options.resize;
  ValidateOptions(plan->preprocess);
  const int64_t listed = plan->source->frame_count().value_or(0);
  if (listed > 1) console->Note(fmt::format("checking {} images", listed));
  const std::vector<FrameInfo> infos = plan->source->Verify(team);
  CheckFrameSizes(infos, options.skip_bad, plan);
  plan->input_fingerprint = FingerprintOf(options.input, infos);
  const std::optional<int64_t> count = plan->source->frame_count();
  plan->frames_exact = count == static_cast<int64_t>(infos.size());
  if (!plan->frames_exact) plan->frames = count.value_or(0);
  const std::string description = plan->source->description();
  if (!description.empty()) console->Note(description);
}

// Frames in a window, and shared by two; of one stream in streaming mode.
WindowLayout LayoutOf(const RunPlan& plan) {
  WindowOptions layout;
  layout.scale_frames = plan.session.scale_frames;
  layout.window_size = plan.windows->window_size;
  layout.keyframe_interval = plan.session.keyframe_interval;
  layout.overlap_size = plan.windows->overlap_frames;
  layout.overlap_keyframes = plan.windows->overlap_keyframes;
  return PlanWindows(layout);
}

void PlanStream(const RunOptions& options, Console* console, RunPlan* plan) {
  plan->session = options.session;
  plan->session.log = [console](const std::string& line) { console->Warn(line); };
  if (plan->session.scale_frames == 0) {
    plan->session.scale_frames = plan->checkpoint.model.scale_frames;
  }
  plan->policy = ChooseStreamPolicy(options, plan->frames, plan->session.scale_frames);
  plan->session.keyframe_interval = plan->policy.keyframe_interval;
  plan->session.keyframe_motion = plan->policy.keyframe_motion;
  // A cache that is a little too large costs less than frames that are forgotten.
  const int64_t margin = plan->frames_exact || plan->frames == 0 ? 0 : 2 + plan->frames / 100;
  plan->session.expected_frames = plan->frames + margin;
  plan->windows = plan->policy.windows;
  if (!plan->windows) return;
  const int64_t window = LayoutOf(*plan).window;
  plan->session.expected_frames =
      plan->frames == 0 ? window : std::min(plan->session.expected_frames, window);
}

// What the program and its libraries keep for themselves: heaps, compiled kernels, stacks. Pages of
// the libraries' files are resident too (0.27 GB with those of CUDA and FFmpeg), but the system
// takes them back when it needs them; they are in no plan.
constexpr uint64_t kProgramBytes = 96'000'000;

// Images of the original size: one being decoded, two waiting, one being resized. A video decoder
// keeps about twelve more, of 1.5 bytes a pixel.
uint64_t ImageMemory(const RunPlan& plan) {
  constexpr uint64_t kRgbImages = 4;
  constexpr uint64_t kDecoderImages = 12;
  const auto pixels = static_cast<uint64_t>(plan.source_pixels);
  const bool decodes = !plan.frames_exact || plan.frames == 0;
  return pixels * 3 * kRgbImages + (decodes ? pixels * 3 * kDecoderImages / 2 : 0);
}

// Bytes that the program itself comes to hold: itself and images of the original size (where the
// limit is one of this memory, not of a GPU's), the frames that were given to the session and have
// not come back, in windowed mode the overlap of two windows (images and two sets of results), and
// the point cloud with what it takes to finish it.
uint64_t OwnMemory(const RunOptions& options, const RunPlan& plan) {
  constexpr uint64_t kTrackBytes = 12;  // of a point in COLMAP's files
  const uint64_t pixels = uint64_t{1} * plan.size.out_width * plan.size.out_height;
  const auto overlap = static_cast<uint64_t>(plan.windows ? LayoutOf(plan).overlap : 0);
  uint64_t bytes = 3 * pixels * (static_cast<uint64_t>(plan.session.scale_frames) + overlap);
  bytes += overlap * pixels * (3 + 2 + 2) * sizeof(float);
  if (plan.checkpoint.model.device == DeviceKind::kCpu) bytes += kProgramBytes + ImageMemory(plan);
  std::vector<ExportKind> kinds = options.output.exports;
  if (options.output.ply) kinds.push_back(ExportKind::kPly);
  if (ExportSet::WantsCloud(kinds)) {
    const auto cloud = ExportSet::CloudOptionsFor(kinds, options.output.cloud);
    const PointCloudBuilder builder(cloud);
    auto candidates = static_cast<uint64_t>(builder.capacity());
    if (plan.frames > 0) {
      candidates = std::min(candidates, pixels * static_cast<uint64_t>(plan.frames));
    }
    bytes += candidates * (static_cast<uint64_t>(builder.candidate_bytes()) +
                           (cloud.keep_origins ? kTrackBytes : 0));
  }
  return bytes;
}

void CheckRunMemory(const RunOptions& options, RunPlan* plan) {
  ModelInfo& model = plan->checkpoint.model;
  const int height = plan->size.out_height;
  const int width = plan->size.out_width;
  plan->own_memory = OwnMemory(options, *plan);
  plan->memory = PlanMemory(model, height, width, plan->session);
  const uint64_t limit = options.memory_limit;
  if (limit == 0) return CheckMemory(model, height, width, plan->session);
  Check(plan->own_memory < limit, ErrorCode::kOutOfMemory,
        "program, images and point cloud alone need {} of memory, but the limit is {}; "
        "--max-points or "
        "--no-ply needs less",
        FormatBytes(plan->own_memory), FormatBytes(limit));
  plan->session.memory_limit = limit - plan->own_memory;
  try {
    CheckMemory(model, height, width, plan->session);
  } catch (const Error& error) {
    Fail(error.code(),
         "{} (of the {} allowed, {} are set aside for program, images and point cloud)",
         error.what(), FormatBytes(limit), FormatBytes(plan->own_memory));
  }
}

}  // namespace

void CheckFrameSize(const RunPlan& plan, const ImageSize& image, const std::string& name) {
  const ResizeSize size = SizeInRun(image, plan.preprocess, name);
  Check(size.out_width == plan.size.out_width && size.out_height == plan.size.out_height,
        ErrorCode::kShapeMismatch,
        "{} ({}x{}) comes to {}x{} pixels, but {} came to {}x{}; all frames of a run must come to "
        "one size: sort them apart, use --preprocess pad, or leave such frames out with --skip-bad",
        name, image.width, image.height, size.out_width, size.out_height, plan.first_name,
        plan.size.out_width, plan.size.out_height);
}

RunPlan PlanRun(const RunOptions& options, const ThreadTeam& team, Console* console) {
  RunPlan plan;
  AsUsage([&] { CheckOutputFolder(options); });
  plan.source =
      AsUsage([&] { return OpenSource(options.input, SourceOptionsOf(options, console)); });
  plan.checkpoint = InspectCheckpoint(options.model, ModelOptionsOf(options));
  AsUsage([&] { LookAtInput(options, team, console, &plan); });
  AsUsage([&] { PlanStream(options, console, &plan); });
  CheckRunMemory(options, &plan);
  plan.weights_hash = HashFile(options.model);
  return plan;
}

}  // namespace lingbot::cli
