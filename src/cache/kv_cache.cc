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

PageStoreConfig StoreConfig(const KvCacheConfig& config, const PageTable& table) {
  PageStoreConfig store = StoreConfig(config, table.max_pages());
  store.patch_pages = table.patch_pages();
  store.expected_specials =
      std::min(table.max_entries(), config.expected_frames) * config.specials_per_frame;
  return store;
}

int64_t RowsPerStep(const KvCacheConfig& config) {
  return config.scale_frames * (config.specials_per_frame + config.page_size);
}

int64_t Signed(uint64_t bytes) { return static_cast<int64_t>(bytes); }

}  // namespace

KvCache::KvCache(const KvCacheConfig& config, ops::Context* gpu)
    : config_(config),
      gpu_(gpu),
      own_inputs_(gpu == nullptr
                      ? std::make_unique<MirroredMemory>(Device::kCpu, StepInputBytes(config))
                      : nullptr),
      table_(TableConfig(config)),
      store_(StoreConfig(config, table_), gpu),
      camera_(config.camera, table_.max_entries(), config.poison, gpu) {
  MirroredMemory& inputs = gpu_ != nullptr ? gpu_->step_inputs() : *own_inputs_;
  view_pages_ = inputs.Allocate<int32_t>(table_.max_pages());
  offsets_ = inputs.Allocate<int64_t>(RowsPerStep(config));
  entries_ = inputs.Allocate<int32_t>(2);
  page_is_visible_.resize(table_.patch_pages());
  moved_from_.reserve(table_.max_entries() * config.specials_per_frame);
  moved_to_.reserve(table_.max_entries() * config.specials_per_frame);
  // A frame's special tokens touch at most one page more than whole pages would hold.
  const int64_t special_runs = std::min<int64_t>(config.specials_per_frame,
                                                 config.specials_per_frame / config.page_size + 2);
  slots_.reserve(config.scale_frames);
  runs_.reserve(static_cast<size_t>(config.scale_frames * (special_runs + 1)));
  visible_.reserve(table_.max_pages());
  appended_.resize(config.blocks);
  camera_appended_.resize(camera_.caches());
}

size_t KvCache::StepInputBytes(const KvCacheConfig& config) {
  const PageTable table(TableConfig(config));
  return table.max_pages() * sizeof(int32_t) + RowsPerStep(config) * sizeof(int64_t) +
         2 * sizeof(int32_t) + 3 * kGpuAlignment;
}

void KvCache::Provide(int64_t frames) {
  camera_.Provide(0, std::min(table_.max_entries(), frames));
  const int64_t pages = std::min<int64_t>(table_.patch_pages(), frames);
  for (int32_t page = 0; page < pages; ++page) store_.Provide({page, 0}, config_.page_size);
  int64_t specials = std::min(table_.max_entries(), frames) * config_.specials_per_frame;
  for (int64_t i = 0; i < specials; i += config_.page_size) {
    store_.Provide(table_.SpecialPlace(i), std::min(config_.page_size, specials - i));
  }
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
  ProvideStep();
  RefreshView();
}

// Memory for the step's frames; if there is none, the step is not opened.
void KvCache::ProvideStep() {
  try {
    for (const TokenRun& run : runs_) store_.Provide(run.place, run.count);
    camera_.Provide(first_step_entry(), table_.step_frames());
  } catch (...) {
    table_.Discard();
    throw;
  }
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
  const int64_t specials = table_.entries() * config_.specials_per_frame;
  for (size_t i = 0; i < visible_.size(); ++i) {
    const int32_t page = visible_[i];
    view_pages_.host[i] = page < table_.patch_pages()
                              ? store_.ViewPage(page)
                              : store_.ViewSpecialPage(page - table_.patch_pages(), specials);
  }
  const int64_t rows = table_.step_frames() * (config_.specials_per_frame + config_.page_size);
  store_.FillOffsets(runs_, {offsets_.host, static_cast<size_t>(rows)});
  entries_.host[0] = static_cast<int32_t>(first_step_entry());
  entries_.host[1] = static_cast<int32_t>(table_.entries());
  RefreshExtents();
}

// In planes the special tokens and the patch pages from 0 on are one range of rows; pages that are
// not visible cut it.
void KvCache::RefreshExtents() {
  extent_count_ = 0;
  if (config_.layout != KvLayout::kPlanes) return;
  std::fill(page_is_visible_.begin(), page_is_visible_.end(), uint8_t{0});
  for (const int32_t page : visible_) {
    if (page < table_.patch_pages()) page_is_visible_[page] = 1;
  }
  const int64_t specials = table_.entries() * config_.specials_per_frame;
  ops::KvExtent open{store_.special_rows() - specials, specials};
  int count = 0;
  const auto close = [&] {
    if (open.count > 0 && count < 2) extents_[count] = open;
    count += open.count > 0;
  };
  for (int32_t page = 0; page < table_.patch_pages(); ++page) {
    if (page_is_visible_[page] == 0) continue;
    const int64_t row = store_.special_rows() + page * config_.page_size;
    if (open.count > 0 && open.begin + open.count == row) {
      open.count += config_.page_size;
    } else {
      close();
      open = {row, config_.page_size};
    }
  }
  close();
  if (count <= 2) extent_count_ = count;
}

ops::KvDestination KvCache::Destination(int block) {
  Check(table_.open() && block >= 0 && block < config_.blocks, ErrorCode::kInternal,
        "block {} was appended to a cache of {} blocks {} a step", block, config_.blocks,
        table_.open() ? "inside" : "outside");
  Check(appended_[block] == 0, ErrorCode::kInternal,
        "block {} was appended to twice in one step of the cache", block);
  appended_[block] = 1;
  const int64_t rows = table_.step_frames() * (config_.specials_per_frame + config_.page_size);
  return store_.Destination(block, offsets_.device, rows);
}

void KvCache::Append(const ThreadTeam& team, int block, const TensorView& k, const TensorView& v) {
  const ops::KvDestination destination = Destination(block);
  appended_[block] = 0;
  ops::StoreKv(team, k, v, destination);
  appended_[block] = 1;
}

void KvCache::MarkAppended() {
  Check(table_.open(), ErrorCode::kInternal, "a step was marked as appended outside a step");
  std::fill(appended_.begin(), appended_.end(), uint8_t{1});
  std::fill(camera_appended_.begin(), camera_appended_.end(), uint8_t{1});
}

ops::PagedStep KvCache::Step() const {
  Check(table_.open(), ErrorCode::kInternal, "the cache was planned for outside a step");
  ops::PagedStep step;
  step.view = store_.View(0);
  step.view.pages = {view_pages_.host, visible_.size()};
  step.view.last_page_len = last_page_len_;
  step.blocks = config_.blocks;
  step.block_stride = store_.block_stride();
  step.queries = table_.step_frames() * (config_.specials_per_frame + config_.page_size);
  step.heads = config_.heads;
  step.head_dim = config_.head_dim;
  step.extents = extents_;
  step.extent_count = extent_count_;
  step.device_pages = view_pages_.device;
  return step;
}

ops::PagedKvView KvCache::View(int block) const {
  ops::PagedKvView view = store_.View(block);
  Check(table_.open() && appended_[block] != 0, ErrorCode::kInternal,
        "block {} of the cache was viewed before the step's frames were appended to it", block);
  view.pages = {view_pages_.host, visible_.size()};
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
  camera_.Write(pass, block, first_step_entry(), k, v, entries_.device);
  camera_appended_[cache] = 1;
}

ops::EntryKv KvCache::CameraView(int pass, int block) const {
  const int cache = camera_.Index(pass, block);
  Check(table_.open() && camera_appended_[cache] != 0, ErrorCode::kInternal,
        "pass {}, block {} of the camera cache was viewed before the step's frames were appended "
        "to it",
        pass, block);
  ops::EntryKv view = camera_.View(pass, block, table_.entries());
  view.entries = entries_.device + 1;
  return view;
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
  moved_from_.clear();
  moved_to_.clear();
  ForEachMove(dropped, before, [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < specials; ++i) {
      moved_from_.push_back(table_.SpecialPlace(from * specials + i));
      moved_to_.push_back(table_.SpecialPlace(to * specials + i));
    }
  });
  store_.MoveTokens(moved_from_, moved_to_);
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
