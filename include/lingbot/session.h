#ifndef LINGBOT_SESSION_H_
#define LINGBOT_SESSION_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lingbot/camera.h"
#include "lingbot/model.h"
#include "lingbot/options.h"

namespace lingbot {

// Memory of a run in bytes, known before anything is allocated.
struct MemoryPlan {
  uint64_t weights = 0;       // prepacked, shared by all sessions of the model
  uint64_t patch_cache = 0;   // K and V of the patch tokens that stay visible
  uint64_t specials = 0;      // K and V of the special tokens (the trajectory)
  uint64_t camera_cache = 0;  // the camera head's own caches
  uint64_t workspace = 0;     // temporaries of one step
  uint64_t results = 0;       // depth and confidence of the frames in flight, and their inputs
  uint64_t runtime = 0;  // GPU: CUDA's context and loaded kernels, as measured; grows with them
  uint64_t total() const {
    return weights + patch_cache + specials + camera_cache + workspace + results + runtime;
  }
  uint64_t session() const { return total() - weights; }
};

// What a session of `height` x `width` frames needs; nothing is allocated, and the weights need not
// be loaded. Throws kInvalidArgument as the Session constructor does.
MemoryPlan PlanMemory(const ModelInfo& model, int height, int width, const SessionOptions& options);

// The attention back end that such a session uses: what kAuto comes to. Throws kUnavailable if the
// one asked for does not run on the model's device.
AttentionBackend ResolveAttention(const ModelInfo& model, const SessionOptions& options);

// Throws kOutOfMemory if that plan, weights included, exceeds options.memory_limit or, without a
// limit, what the machine has free: one message with the numbers and settings that would fit. To be
// called before Model::Load.
void CheckMemory(const ModelInfo& model, int height, int width, const SessionOptions& options);

// Occupancy of the KV cache after a frame.
struct CacheOccupancy {
  int64_t stored_frames = 0;  // ever stored; also the time index of the next frame
  int64_t scale_pages = 0;
  int64_t window_pages = 0;
  int64_t special_tokens = 0;
  int64_t special_pages = 0;
  int64_t last_page_length = 0;
};

// Where the time of the last step went, in milliseconds.
struct StageTimes {
  double tokens = 0;  // patches and image encoder
  double frame_blocks = 0;
  double global_attention = 0;  // attention over the cache alone
  double global_other = 0;      // the rest of the global blocks
  double camera = 0;
  double depth = 0;
  double transfers = 0;  // between host and GPU
  double total = 0;
};

// What became of one frame. Spans point into the session and are valid until the callback returns.
struct FrameResult {
  int64_t index = 0;      // position in the stream, from 0
  bool keyframe = false;  // stored in the cache
  int height = 0;
  int width = 0;
  PoseEncoding pose{};  // camera-to-world and field of view: camera.h
  std::span<const float>
      depth;  // [height * width], row-major, in the model's unit, along the optical axis
  std::span<const float> confidence;  // [height * width], >= 1
  CacheOccupancy cache;
};

using ResultCallback = std::function<void(const FrameResult&)>;

// By which a program keeps more in a snapshot file than the session itself: called with a function
// that writes, or reads, so many bytes. What was written must be read, in pieces of any size.
using SnapshotWrite = std::function<void(const void* data, size_t bytes)>;
using SnapshotRead = std::function<void(void* data, size_t bytes)>;
using SnapshotSaver = std::function<void(const SnapshotWrite&)>;
using SnapshotLoader = std::function<void(const SnapshotRead&)>;

// One stream of frames of one size. The first `scale_frames` frames are held back and processed
// together; every later frame is processed at once. Used by one thread at a time; sessions are
// independent of each other, also when they share a model.
class Session {
 public:
  // Plans and checks memory, then reserves it. `height` and `width` are those of the preprocessed
  // frames: multiples of the model's patch size. Throws kInvalidArgument for options or sizes out
  // of range, kOutOfMemory with the plan and settings that would fit.
  Session(const Model& model, int height, int width, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Takes the next frame: RGB in [0, 1], planar [3, height, width]. Calls `on_result` for every
  // frame that became known, in order: none while the scale frames are collected, all of them with
  // the last of these, then one per call. Throws kShapeMismatch for a frame of another size,
  // kInvalidArgument for a value that is not finite, kTrajectoryFull; the frame is then not stored
  // and the session stays usable. An exception of the callback passes through after the frame has
  // been stored.
  void Add(std::span<const float> rgb, const ResultCallback& on_result);

  // Ends the stream: processes held-back frames of a stream shorter than `scale_frames`.
  void Finish(const ResultCallback& on_result);

  // Forgets the stream but keeps the memory; the next frame starts a new stream.
  void Reset();

  // Where the camera of a frame stands in the map so far, with the frame's depth and confidence,
  // without storing it: what Add would say of a frame that is not a keyframe, but the stream goes
  // on as if the frame had never been. `index` is the position that it would have had. Also after
  // Finish. The spans are valid until the session is used again. Throws as Add, and
  // kInvalidArgument before the scale frames have been processed.
  FrameResult Localize(std::span<const float> rgb);

  // Writes the session's whole state into one file (docs/architecture.md has the format), `note`
  // and what `more` writes included. Whatever happens on the way, `path` holds the old file or the
  // new one. Takes a few megabytes of memory. Throws kFileUnwritable, and what `more` throws.
  void Save(const std::filesystem::path& path, const std::string& note = {},
            const SnapshotSaver& more = nullptr) const;
  // Takes over the state that Save found, whatever this session has done before: from then on its
  // results are bit for bit those of the session that was saved. Model, size and options must be
  // the same, device, attention and layout of the cache may differ (and with them rounding).
  // Throws kFileNotFound, kFileUnreadable, kUnsupportedFormat, kCorruptFile for the file,
  // kInvalidArgument naming what differs, and what `more` throws; the session is then as it was
  // or, if the file changed or failed while it was read, empty.
  void Load(const std::filesystem::path& path, const SnapshotLoader& more = nullptr);

  const MemoryPlan& memory_plan() const;
  CacheOccupancy occupancy() const;
  AttentionBackend attention() const;   // the back end in use
  const StageTimes& last_step() const;  // of the scale step or the last frame

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Windowed mode for long sequences: overlapping windows, each a new stream, aligned to its
// predecessor by a similarity as soon as its overlap frames are known. Memory is bounded by one
// session and two overlaps.
struct WindowedOptions {
  int window_size =
      64;  // frames of a window: scale_frames + (window_size - scale_frames) * keyframe_interval
  int overlap_keyframes = 0;  // overlap = max(scale_frames, overlap_keyframes * keyframe_interval)
  int overlap_frames = 0;     // overlap in frames instead; 0 = by the rule above
};

// Similarity that brought a window into the first window's frame.
struct WindowTransform {
  int64_t first_frame = 0;
  double scale = 1;                   // factor on depths and translations
  WorldFromCamera world_from_window;  // p_world = rotation * (scale * p_window) + center
};

class WindowedSession {
 public:
  // Throws as Session does, and kInvalidArgument if the overlap is not shorter than the window.
  WindowedSession(const Model& model, int height, int width, const SessionOptions& options,
                  const WindowedOptions& windows);
  ~WindowedSession();
  WindowedSession(WindowedSession&&) noexcept;
  WindowedSession& operator=(WindowedSession&&) noexcept;

  // As Session::Add; results arrive in order, aligned, delayed by at most a window.
  void Add(std::span<const float> rgb, const ResultCallback& on_result);
  void Finish(const ResultCallback& on_result);

  // As those of Session; the images and results that windows share are saved too.
  void Save(const std::filesystem::path& path, const std::string& note = {},
            const SnapshotSaver& more = nullptr) const;
  void Load(const std::filesystem::path& path, const SnapshotLoader& more = nullptr);

  const std::vector<WindowTransform>& transforms() const;  // of the windows placed so far
  const MemoryPlan& memory_plan() const;
  CacheOccupancy occupancy() const;
  AttentionBackend attention() const;
  const StageTimes& last_step() const;

  Session::Impl& session_impl();  // that runs the windows

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot

#endif  // LINGBOT_SESSION_H_
