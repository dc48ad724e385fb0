#include "cache/kv_cache.h"

#include <algorithm>

#include "base/check.h"
#include "cache/checked_size.h"

namespace lingbot {
namespace {

PageTableConfig TableConfig(const KvCacheConfig& config) {
  return {config.page_size,      config.specials_per_frame, config.scale_frames,
          config.sliding_window, config.trajectory_frames,  config.strict};
}

PageStoreConfig StoreConfig(const KvCacheConfig& config, int64_t pages) {
  return {config.blocks,   pages,        config.page_size, config.heads,
          config.head_dim, config.dtype, config.layout,    config.poison};
}

int64_t Signed(uint64_t bytes) { return static_cast<int64_t>(bytes); }

}  // namespace

KvCache::KvCache(const KvCacheConfig& config)
    : config_(config),
      table_(TableConfig(config)),
      store_(StoreConfig(config, table_.max_pages())),
      camera_(config.camera, table_.max_entries(), config.poison) {
  // A frame's special tokens touch at most one page more than whole pages would hold.
  const int64_t special_runs = std::min<int64_t>(config.specials_per_frame,
                                                 config.specials_per_frame / config.page_size + 2);
  slots_.reserve(config.scale_frames);
  runs_.reserve(static_cast<size_t>(config.scale_frames * (special_runs + 1)));
  visible_.reserve(table_.max_pages());
  appended_.resize(config.blocks);
  camera_appended_.resize(camera_.caches());
}

uint64_t KvCache::PatchPageBytes(const KvCacheConfig& config) {
  return PageStore::PageBytes(StoreConfig(config, 1));
}

uint64_t KvCache::SpecialBytesPerFrame(const KvCacheConfig& config) {
  PageStoreConfig token = StoreConfig(config, 1);
  token.page_size = 1;
  return CheckedProduct("a frame's special tokens", {Signed(PageStore::PageBytes(token)),
                                                     config.specials_per_frame, config.blocks});
}

uint64_t KvCache::CameraBytesPerFrame(const KvCacheConfig& config) {
  return CameraCache::EntryBytes(config.camera);
}

CacheBytes KvCache::PlanBytes(const KvCacheConfig& config, int64_t frames) {
  const PageTable table(TableConfig(config));
  int64_t patch_pages = table.patch_pages();
  int64_t entries = table.max_entries();
  if (frames > 0 && !config.poison) {
    patch_pages = std::min(patch_pages, frames);
    entries = std::min(entries, frames);
  }
  CacheBytes bytes;
  bytes.patch_pages = CheckedProduct("the patch pages",
                                     {Signed(PatchPageBytes(config)), config.blocks, patch_pages});
  bytes.specials =
      CheckedProduct("the special tokens", {Signed(SpecialBytesPerFrame(config)), entries});
  if (config.poison) {
    bytes.specials =
        CheckedProduct("the special pages", {Signed(PatchPageBytes(config)), config.blocks,
                                             int64_t{table.max_pages()} - table.patch_pages()});
  }
  bytes.camera =
      CheckedProduct("the camera caches", {Signed(CameraBytesPerFrame(config)), entries});
  return bytes;
}

void KvCache::CheckStep(int frames, StepKind kind) const {
  Check(!table_.open(), ErrorCode::kInternal,
        "a step of the cache was begun inside another one; commit or discard that first");
  const bool first = table_.first_step();
  const int most = first ? config_.scale_frames : 1;
  Check(
      frames >= 1 && frames <= most, ErrorCode::kInvalidArgument,
      "a step of {} frames: the first step of a stream has 1 to {} (scale_frames), every later one "
      "has 1",
      frames, config_.scale_frames);
  Check(!first || kind == StepKind::kStored, ErrorCode::kInvalidArgument,
        "the first step of a stream must be stored: every later frame attends to it");
  if (kind == StepKind::kStored) table_.CheckRoom(frames);
}

void KvCache::BeginStep(int frames, StepKind kind) {
  CheckStep(frames, kind);
  table_.Begin();
  kind_ = kind;
  slots_.clear();
  runs_.clear();
  std::fill(appended_.begin(), appended_.end(), uint8_t{0});
  std::fill(camera_appended_.begin(), camera_appended_.end(), uint8_t{0});
  for (int i = 0; i < frames; ++i) {
    slots_.push_back(table_.AppendFrame());
    AddRuns(slots_.back());
  }
  // The page that leaves keeps its contents until Commit, so that Discard can take it back.
  if (kind == StepKind::kStored) table_.EvictFrames();
  RefreshView();
}

void KvCache::AddRuns(const FrameSlot& slot) {
  int64_t row = runs_.empty() ? 0 : runs_.back().row + runs_.back().count;
  int64_t special = slot.first_special;
  const int64_t end = special + config_.specials_per_frame;
  while (special < end) {
    const TokenPlace place = table_.SpecialPlace(special);
    const int64_t count = std::min(end - special, config_.page_size - place.token);
    runs_.push_back({row, place, count});
    row += count;
    special += count;
  }
  runs_.push_back({row, {slot.page, 0}, config_.page_size});
}

void KvCache::RefreshView() {
  table_.VisiblePages(&visible_);
  last_page_len_ = table_.last_page_len();
  Check(last_page_len_ >= 1 && last_page_len_ <= config_.page_size, ErrorCode::kInternal,
        "the last page of the cache holds {} tokens, outside [1, {}]", last_page_len_,
        config_.page_size);
}

void KvCache::Append(const ThreadTeam& team, int block, const TensorView& k, const TensorView& v) {
  Check(table_.open() && block >= 0 && block < config_.blocks, ErrorCode::kInternal,
        "block {} was appended to a cache of {} blocks {} a step", block, config_.blocks,
        table_.open() ? "inside" : "outside");
  Check(appended_[block] == 0, ErrorCode::kInternal,
        "block {} was appended to twice in one step of the cache", block);
  store_.Write(team, block, k, v, runs_);
  appended_[block] = 1;
}

ops::PagedKvView KvCache::View(int block) const {
  ops::PagedKvView view = store_.View(block);
  Check(table_.open() && appended_[block] != 0, ErrorCode::kInternal,
        "block {} of the cache was viewed before the step's frames were appended to it", block);
  view.pages = visible_;
  view.last_page_len = last_page_len_;
  return view;
}

void KvCache::AppendCamera(int pass, int block, const TensorView& k, const TensorView& v) {
  const int cache = camera_.Index(pass, block);
  Check(table_.open(), ErrorCode::kInternal, "a camera token was appended outside a step");
  Check(camera_appended_[cache] == 0, ErrorCode::kInternal,
        "pass {}, block {} of the camera cache was appended to twice in one step", pass, block);
  Check(k.rank() == 3 && k.dim(0) == table_.step_frames(), ErrorCode::kInternal,
        "the camera cache was given K of shape {} in a step of {} frames", k.shape(),
        table_.step_frames());
  camera_.Write(pass, block, first_step_entry(), k, v);
  camera_appended_[cache] = 1;
}

CameraKv KvCache::CameraView(int pass, int block) const {
  const int cache = camera_.Index(pass, block);
  Check(table_.open() && camera_appended_[cache] != 0, ErrorCode::kInternal,
        "pass {}, block {} of the camera cache was viewed before the step's frames were appended "
        "to it",
        pass, block);
  return camera_.View(pass, block, table_.entries());
}

void KvCache::EvictDeferred() {
  Check(table_.open() && kind_ != StepKind::kTransient, ErrorCode::kInternal,
        "eviction was asked for outside a step, or for a frame that is not to be stored");
  table_.EvictFrames();
  RefreshView();
}

void KvCache::RollbackLastFrame() {
  Check(table_.open() && table_.step_frames() == 1, ErrorCode::kInternal,
        "a rollback needs an open step of one frame; discard a step of several");
  Discard();
}

void KvCache::CheckComplete() const {
  Check(table_.open(), ErrorCode::kInternal, "a step of the cache was committed that is not open");
  Check(kind_ != StepKind::kTransient, ErrorCode::kInternal,
        "a frame that was not to be stored was committed to the cache");
  const auto block = std::find(appended_.begin(), appended_.end(), uint8_t{0});
  Check(block == appended_.end(), ErrorCode::kInternal,
        "block {} of the cache lacks this step's frames", block - appended_.begin());
  const auto cache = std::find(camera_appended_.begin(), camera_appended_.end(), uint8_t{0});
  Check(cache == camera_appended_.end(), ErrorCode::kInternal,
        "camera cache {} (pass * blocks + block) lacks this step's frames",
        cache - camera_appended_.begin());
  table_.CheckRoom(table_.step_frames());
}

void KvCache::ReportThinning() {
  if (thinning_reported_ || !table_.CommitWouldThin()) return;
  if (config_.log) {
    config_.log(
        fmt::format("the stream has outgrown trajectory_frames ({}): from now on older frames are "
                    "thinned out of the "
                    "trajectory memory; raise it to keep all",
                    config_.trajectory_frames));
  }
  thinning_reported_ = true;
}

void KvCache::Commit() {
  CheckComplete();
  ReportThinning();
  // Nothing below throws.
  table_.Commit();
  for (const int32_t page : table_.evicted_pages()) store_.Poison({page, 0}, config_.page_size);
  CompactAfterThinning();
}

void KvCache::CompactAfterThinning() noexcept {
  const std::span<const int64_t> dropped = table_.dropped_entries();
  if (dropped.empty()) return;
  const int64_t left = static_cast<int64_t>(dropped.size());
  const int64_t before = table_.entries() + left;
  const int64_t specials = config_.specials_per_frame;
  for (int block = 0; block < config_.blocks; ++block) {
    ForEachMove(dropped, before, [&](int64_t from, int64_t to) {
      for (int64_t i = 0; i < specials; ++i) {
        store_.CopyToken(block, table_.SpecialPlace(from * specials + i),
                         table_.SpecialPlace(to * specials + i));
      }
    });
  }
  PoisonSpecials(table_.entries() * specials, left * specials);
  camera_.Compact(dropped, before);
}

void KvCache::PoisonSpecials(int64_t first, int64_t count) noexcept {
  if (!config_.poison) return;
  for (int64_t i = first; i < first + count; ++i) store_.Poison(table_.SpecialPlace(i), 1);
}

void KvCache::PoisonStep() noexcept {
  for (const FrameSlot& slot : slots_) {
    store_.Poison({slot.page, 0}, config_.page_size);
    PoisonSpecials(slot.first_special, config_.specials_per_frame);
  }
  camera_.Poison(first_step_entry(), table_.step_frames());
}

void KvCache::Discard() noexcept {
  if (!table_.open()) return;
  PoisonStep();
  table_.Discard();
}

void KvCache::Reset() noexcept {
  table_.Reset();
  store_.PoisonAll();
  camera_.Poison(0, table_.max_entries());
}

}  // namespace lingbot
