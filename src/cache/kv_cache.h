#ifndef LINGBOT_CACHE_KV_CACHE_H_
#define LINGBOT_CACHE_KV_CACHE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "cache/camera_cache.h"
#include "cache/page_store.h"
#include "cache/page_table.h"
#include "lingbot/options.h"
#include "ops/attention.h"
#include "tensor/tensor_view.h"

namespace lingbot {

struct KvCacheConfig {
  int blocks = 0;              // global attention blocks
  int64_t page_size = 0;       // patch tokens of a frame, P
  int specials_per_frame = 6;  // in front of a frame's patch tokens
  int64_t heads = 0;
  int64_t head_dim = 0;
  DType dtype = DType::kF32;  // of storage: kF32 or kBF16
  KvLayout layout = KvLayout::kPlanes;
  int scale_frames = 8;
  int sliding_window = 64;
  int trajectory_frames = 1024;
  int64_t expected_frames = 0;  // that will be stored; 0 = unknown. Only the use of memory differs
  bool strict = false;
  bool poison = false;
  CameraCacheConfig camera;
  std::function<void(const std::string&)> log;  // told once when thinning starts
};

// What becomes of a step's frames.
enum class StepKind {
  kStored,     // a keyframe: the window's oldest page leaves before attention; ends in Commit
  kTransient,  // attends like any other, is never stored; ends in Discard
  kUndecided,  // eviction is deferred until Commit; ends in Commit or Discard
};

// Bytes that a stream makes the cache write.
struct CacheBytes {
  uint64_t patch_pages = 0;  // K and V of patch tokens, all blocks
  uint64_t specials = 0;     // K and V of special tokens, all blocks
  uint64_t camera = 0;       // all caches of the camera head
  uint64_t total() const { return patch_pages + specials + camera; }
};

// The two-stream key-value cache of all global blocks, and the camera head's caches, under one
// transaction.
//
// A step: BeginStep; then for every block Append and View, for every camera pass and block
// AppendCamera and CameraView; then Commit or Discard. After Discard, or an exception between the
// two, the cache is what it was before BeginStep: pages, their order, the free list, and with
// `poison` every byte. The first step of a stream is the scale step: 1 to scale_frames frames,
// kStored. Every later step holds one frame.
//
// Used by one thread at a time. Nothing is allocated after construction, except for an error
// message.
class KvCache {
 public:
  // Throws kInvalidArgument on a configuration out of range, kOutOfMemory if its address space
  // cannot be had.
  // On a GPU the cache lives in the memory of `gpu`, whose step inputs must have room for
  // StepInputBytes more; its launches go to that context's stream.
  explicit KvCache(const KvCacheConfig& config, ops::Context* gpu = nullptr);

  // Step inputs that a cache on a GPU takes.
  static size_t StepInputBytes(const KvCacheConfig& config);

  // Gets the memory that a stream of `frames` stored frames will need now rather than step by step.
  // Throws kOutOfMemory.
  void Provide(int64_t frames);

  // Bytes that a stream of `frames` frames (0 or less: of unknown length) comes to occupy. Exact
  // when every frame is stored; for a stream with transient frames, pass the number stored + 1.
  // With `poison` the whole cache is occupied from the start. Throws as the constructor does.
  static CacheBytes PlanBytes(const KvCacheConfig& config, int64_t frames);
  // Bytes of one patch page in one block, K and V.
  static uint64_t PatchPageBytes(const KvCacheConfig& config);
  // Bytes of the special tokens of one stored frame in all blocks, K and V.
  static uint64_t SpecialBytesPerFrame(const KvCacheConfig& config);
  // Bytes of one stored frame in all camera caches.
  static uint64_t CameraBytesPerFrame(const KvCacheConfig& config);

  // Throws kInternal inside an open step, kInvalidArgument on a kind or number of frames that the
  // stream cannot take now, kTrajectoryFull for a stored frame beyond the budget of a `strict`
  // cache. A failed call changes nothing.
  void BeginStep(int frames, StepKind kind);

  // Writes the step's frames into `block`, once per block and step.
  //   k, v [frames * (specials_per_frame + page_size), heads, head_dim] float32, k already rotated;
  //   channels contiguous, other strides free; frame by frame, special tokens first
  // Throws kInternal on misuse.
  void Append(const ThreadTeam& team, int block, const TensorView& k, const TensorView& v);
  // Where an operator is to write the step's frames in `block` itself, in that order; counts as the
  // block's append. Throws as Append.
  ops::KvDestination Destination(int block);
  // Replayed launches write without passing by here: declares every block and camera cache appended
  // to.
  void MarkAppended();

  // Everything that the step's frames see in `block`, themselves included: scale pages, window
  // pages oldest first, special pages. Valid until the step ends; the list of pages is shared by
  // all blocks. Throws kInternal unless the block has been appended to in this step.
  ops::PagedKvView View(int block) const;
  // The same for all blocks, as PlanPagedAttention wants it; before anything is appended.
  ops::PagedStep Step() const;

  // Writes the step's camera tokens for one pass and trunk block, once each per step.
  //   k, v [frames, heads, head_dim] float32 (sizes of the camera trunk), channels contiguous
  void AppendCamera(int pass, int block, const TensorView& k, const TensorView& v);
  // The camera tokens of all retained frames and of the step's own, in this pass and block. Valid
  // until the step ends; throws kInternal unless AppendCamera has been called for them in this
  // step.
  ops::EntryKv CameraView(int pass, int block) const;

  // Executes a deferred eviction now instead of in Commit, once an undecided frame turns out a
  // keyframe.
  void EvictDeferred();
  // Takes the frame of the open single-frame step back and closes the step. Throws kInternal if
  // there is none.
  void RollbackLastFrame();

  // Stores the step's frames. Throws before changing anything (the step then stays open): kInternal
  // for a transient step or if a block or a camera cache lacks its append, kTrajectoryFull for an
  // undecided frame beyond the budget of a `strict` cache, and whatever `log` throws.
  void Commit();
  // Forgets the step's frames; nothing to do when no step is open.
  void Discard() noexcept;
  // The empty cache, keeping its memory. An open step is forgotten.
  void Reset() noexcept;

  // Writes everything that later steps depend on: the page table and, of every block and camera
  // cache, what is occupied, in the order of the stream: the same bytes for either layout and
  // device. Takes memory for one patch page. Throws kInternal inside an open step, and what `sink`
  // throws.
  void Save(ByteSink& sink);
  // Brings a cache of the same sizes into the state that Save found. Throws kCorruptFile,
  // kOutOfMemory and what `source` throws; the cache is then what it was before, or empty if data
  // had been taken already.
  void Load(ByteSource& source);

  bool step_open() const { return table_.open(); }
  // Time of the open (or next) step's first frame in rotary embedding: the number of stored frames.
  int64_t time_index() const { return table_.stored_frames(); }
  CacheStats stats() const { return table_.stats(); }

  const KvCacheConfig& config() const { return config_; }
  const PageTable& table() const { return table_; }
  const PageStore& store() const { return store_; }
  const CameraCache& camera() const { return camera_; }

 private:
  class Staging;
  template <typename Visit>
  void ForEachTokenRun(const Visit& visit) const;
  void LoadContents(ByteSource& source);
  void CheckStep(int frames, StepKind kind) const;
  void CheckComplete() const;
  void AddRuns(const FrameSlot& slot);
  void RefreshView();
  void ProvideStep();
  void RefreshExtents();
  void ReportThinning();
  void CompactAfterThinning() noexcept;
  void PoisonSpecials(int64_t first, int64_t count) noexcept;
  void PoisonStep() noexcept;
  int64_t first_step_entry() const { return table_.entries() - table_.step_frames(); }

  KvCacheConfig config_;
  ops::Context* gpu_;
  std::unique_ptr<MirroredMemory> own_inputs_;  // on the CPU
  PageTable table_;
  PageStore store_;
  CameraCache camera_;

  // The open step.
  StepKind kind_ = StepKind::kStored;
  std::vector<FrameSlot> slots_;
  std::vector<TokenRun> runs_;            // where the rows of an appended tensor go
  std::vector<int32_t> visible_;          // page ids
  Mirrored<int32_t> view_pages_;          // the same as views name them
  Mirrored<int64_t> offsets_;             // of the rows of an appended tensor
  Mirrored<int32_t> entries_;             // camera entries before the step, and with it
  std::array<ops::KvExtent, 2> extents_;  // visible rows
  int extent_count_ = 0;                  // 0: they are more than two
  std::vector<uint8_t> page_is_visible_;
  std::vector<TokenPlace> moved_from_;  // special tokens that close ranks
  std::vector<TokenPlace> moved_to_;
  int64_t last_page_len_ = 0;
  std::vector<uint8_t> appended_;         // [blocks]
  std::vector<uint8_t> camera_appended_;  // [passes * blocks]
  bool thinning_reported_ = false;
};

// Opens a step for its scope: whatever way the scope is left, the step is discarded unless
// committed.
class FrameTransaction {
 public:
  FrameTransaction(KvCache& cache, int frames, StepKind kind) : cache_(cache) {
    cache_.BeginStep(frames, kind);
  }
  ~FrameTransaction() {
    if (!committed_) cache_.Discard();
  }
  FrameTransaction(const FrameTransaction&) = delete;
  FrameTransaction& operator=(const FrameTransaction&) = delete;

  void Commit() {
    cache_.Commit();
    committed_ = true;
  }

 private:
  KvCache& cache_;
  bool committed_ = false;
};

}  // namespace lingbot

#endif  // LINGBOT_CACHE_KV_CACHE_H_
