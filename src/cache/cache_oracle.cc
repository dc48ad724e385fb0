#include "cache/cache_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

namespace lingbot::testing {
namespace {

uint64_t Mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Where in the model a token lives: a global block or a camera cache.
uint64_t BlockPlace(int block) { return static_cast<uint64_t>(block) + 1; }
uint64_t CameraPlace(int cache) { return static_cast<uint64_t>(cache) + 1000001; }

// 24 random bits, so that bfloat16 has something to round.
float Value(uint64_t frame, uint64_t place, int kv, int64_t token, int64_t channel) {
  const uint64_t key = Mix(Mix(frame * 2 + static_cast<uint64_t>(kv)) ^ place) ^
                       (static_cast<uint64_t>(token) << 20 | static_cast<uint64_t>(channel));
  return std::ldexp(static_cast<float>(Mix(key) >> 40), -23) - 1.0f;
}

// Nearest bfloat16 by comparing distances, ties to the even neighbour.
float RoundedToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t low = bits & 0xFFFF0000u;
  const float down = std::bit_cast<float>(low);
  const float up = std::bit_cast<float>(low + 0x10000u);
  const double to_down = std::fabs(static_cast<double>(value) - down);
  const double to_up = std::fabs(static_cast<double>(up) - value);
  if (to_down != to_up) return to_down < to_up ? down : up;
  return (low >> 16) % 2 == 0 ? down : up;
}

uint64_t AddToHash(uint64_t hash, float value) {
  return Mix(hash ^ std::bit_cast<uint32_t>(value));
}

// What TokensOf makes of a token, computed from its name.
uint64_t ExpectedToken(uint64_t frame, uint64_t place, int64_t token, int64_t channels,
                       DType dtype) {
  uint64_t hash = 0;
  for (int kv = 0; kv < 2; ++kv) {
    for (int64_t i = 0; i < channels; ++i) {
      const float value = Value(frame, place, kv, token, i);
      hash = AddToHash(hash, dtype == DType::kBF16 ? RoundedToBFloat16(value) : value);
    }
  }
  return hash;
}

StepInput MakeInput(const std::vector<uint64_t>& frames, int64_t tokens, int64_t heads,
                    int64_t head_dim, uint64_t place) {
  const int64_t rows = static_cast<int64_t>(frames.size()) * tokens;
  StepInput input;
  input.qkv = Buffer(DType::kF32, {rows, 3, heads, head_dim});
  float* out = input.qkv.data<float>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int part = 0; part < 3; ++part) {
      for (int64_t i = 0; i < heads * head_dim; ++i) {
        *out++ = part == 0 ? 0.5f : Value(frames[row / tokens], place, part - 1, row % tokens, i);
      }
    }
  }
  const Shape shape{rows, heads, head_dim};
  const Shape strides{3 * heads * head_dim, head_dim, 1};
  input.k = TensorView(input.qkv.data<float>() + heads * head_dim, DType::kF32, shape, strides);
  input.v = TensorView(input.qkv.data<float>() + 2 * heads * head_dim, DType::kF32, shape, strides);
  return input;
}

float Load(const void* base, DType dtype, int64_t index) {
  if (dtype == DType::kF32) return static_cast<const float*>(base)[index];
  return ToFloat(static_cast<const BFloat16*>(base)[index]);
}

}  // namespace

KvCacheConfig SmallConfig() {
  KvCacheConfig config;
  config.blocks = 2;
  config.page_size = 3;
  config.heads = 2;
  config.head_dim = 3;
  config.scale_frames = 2;
  config.sliding_window = 3;
  config.trajectory_frames = 9;
  config.poison = true;
  config.camera = {2, 2, 1, 2};
  return config;
}

StepInput BlockInput(const KvCacheConfig& config, const std::vector<uint64_t>& frames, int block) {
  return MakeInput(frames, config.specials_per_frame + config.page_size, config.heads,
                   config.head_dim, BlockPlace(block));
}

StepInput CameraInput(const KvCacheConfig& config, const std::vector<uint64_t>& frames, int cache) {
  return MakeInput(frames, 1, config.camera.heads, config.camera.head_dim, CameraPlace(cache));
}

void AppendBlock(KvCache& cache, const std::vector<uint64_t>& frames, int block) {
  static const ThreadTeam team(2);
  const StepInput input = BlockInput(cache.config(), frames, block);
  cache.Append(team, block, input.k, input.v);
}

void AppendCamera(KvCache& cache, const std::vector<uint64_t>& frames, int pass, int block) {
  const StepInput input =
      CameraInput(cache.config(), frames, pass * cache.config().camera.blocks + block);
  cache.AppendCamera(pass, block, input.k, input.v);
}

void AppendAll(KvCache& cache, const std::vector<uint64_t>& frames) {
  for (int block = 0; block < cache.config().blocks; ++block) AppendBlock(cache, frames, block);
  for (int pass = 0; pass < cache.config().camera.passes; ++pass) {
    for (int block = 0; block < cache.config().camera.blocks; ++block) {
      AppendCamera(cache, frames, pass, block);
    }
  }
}

void Store(KvCache& cache, const std::vector<uint64_t>& frames) {
  FrameTransaction step(cache, static_cast<int>(frames.size()), StepKind::kStored);
  AppendAll(cache, frames);
  step.Commit();
}

std::vector<uint64_t> TokensOf(const ops::PagedKvView& view, int64_t heads, int64_t head_dim) {
  std::vector<uint64_t> tokens;
  for (size_t i = 0; i < view.pages.size(); ++i) {
    const int64_t used = i + 1 == view.pages.size() ? view.last_page_len : view.page_size;
    for (int64_t token = 0; token < used; ++token) {
      uint64_t hash = 0;
      for (const void* base : {view.k, view.v}) {
        for (int64_t head = 0; head < heads; ++head) {
          for (int64_t channel = 0; channel < head_dim; ++channel) {
            hash =
                AddToHash(hash, Load(base, view.dtype,
                                     view.pages[i] * view.page_stride + token * view.token_stride +
                                         head * view.head_stride + channel));
          }
        }
      }
      tokens.push_back(hash);
    }
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

std::vector<uint64_t> TokensOf(const ops::EntryKv& view) {
  std::vector<uint64_t> tokens;
  for (int64_t entry = 0; entry < view.k.dim(0); ++entry) {
    uint64_t hash = 0;
    for (const TensorView* tensor : {&view.k, &view.v}) {
      for (int64_t head = 0; head < tensor->dim(1); ++head) {
        const TensorView channels = (*tensor)[entry][head];
        for (int64_t i = 0; i < channels.dim(0); ++i) {
          hash = AddToHash(hash, channels.data<float>()[i]);
        }
      }
    }
    tokens.push_back(hash);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

Snapshot::Snapshot(const KvCache& cache)
    : stats(cache.stats()),
      free_pages(cache.table().free_pages().begin(), cache.table().free_pages().end()),
      retained(cache.table().retained_frames().begin(), cache.table().retained_frames().end()),
      store(cache.store().bytes().begin(), cache.store().bytes().end()),
      camera(cache.camera().bytes().begin(), cache.camera().bytes().end()) {
  cache.table().VisiblePages(&visible_pages);
}

void CacheOracle::AddPatches(uint64_t frame, int block, std::vector<uint64_t>* tokens) const {
  for (int64_t token = 0; token < config_.page_size; ++token) {
    tokens->push_back(ExpectedToken(frame, BlockPlace(block), config_.specials_per_frame + token,
                                    config_.heads * config_.head_dim, config_.dtype));
  }
}

void CacheOracle::AddSpecials(uint64_t frame, int block, std::vector<uint64_t>* tokens) const {
  for (int64_t token = 0; token < config_.specials_per_frame; ++token) {
    tokens->push_back(ExpectedToken(frame, BlockPlace(block), token,
                                    config_.heads * config_.head_dim, config_.dtype));
  }
}

std::vector<uint64_t> CacheOracle::Visible(const std::vector<uint64_t>& frames, bool evicted,
                                           int block) const {
  const auto later = static_cast<int64_t>(std::count_if(
      patches_.begin(), patches_.end(), [](const Frame& frame) { return !frame.scale; }));
  // With eviction the window's last place is the current frame's own.
  int64_t hidden =
      evicted && stored_ > 0 ? std::max<int64_t>(0, later + 1 - config_.sliding_window) : 0;
  std::vector<uint64_t> tokens;
  for (const Frame& frame : patches_) {
    if (!frame.scale && hidden-- > 0) continue;
    AddPatches(frame.name, block, &tokens);
  }
  for (const Frame& frame : trajectory_) AddSpecials(frame.name, block, &tokens);
  for (const uint64_t frame : frames) {
    AddPatches(frame, block, &tokens);
    AddSpecials(frame, block, &tokens);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

std::vector<uint64_t> CacheOracle::VisibleCamera(const std::vector<uint64_t>& frames,
                                                 int cache) const {
  const int64_t channels = config_.camera.heads * config_.camera.head_dim;
  std::vector<uint64_t> tokens;
  for (const Frame& frame : trajectory_) {
    tokens.push_back(ExpectedToken(frame.name, CameraPlace(cache), 0, channels, DType::kF32));
  }
  for (const uint64_t frame : frames) {
    tokens.push_back(ExpectedToken(frame, CameraPlace(cache), 0, channels, DType::kF32));
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

void CacheOracle::Store(const std::vector<uint64_t>& frames) {
  const bool scale = stored_ == 0;
  for (const uint64_t name : frames) {
    patches_.push_back({stored_, name, scale});
    trajectory_.push_back({stored_, name, scale});
    ++stored_;
  }
  const auto scale_end = std::find_if(patches_.begin(), patches_.end(),
                                      [](const Frame& frame) { return !frame.scale; });
  while (patches_.end() - scale_end > config_.sliding_window) patches_.erase(scale_end);

  if (static_cast<int>(trajectory_.size()) <= config_.trajectory_frames) return;
  std::vector<Frame> later;
  for (const Frame& frame : trajectory_) {
    if (!frame.scale) later.push_back(frame);
  }
  std::set<int64_t> dropped;
  for (size_t nth = 2; nth <= later.size() / 2; nth += 2) dropped.insert(later[nth - 1].time);
  std::erase_if(trajectory_, [&](const Frame& frame) { return dropped.count(frame.time) != 0; });
}

void CacheOracle::Reset() {
  patches_.clear();
  trajectory_.clear();
  stored_ = 0;
}

std::vector<int64_t> CacheOracle::retained() const {
  std::vector<int64_t> times;
  for (const Frame& frame : trajectory_) times.push_back(frame.time);
  return times;
}

CacheStats CacheOracle::stats() const {
  CacheStats stats;
  stats.stored_frames = stored_;
  stats.time_index = stored_;
  stats.scale_pages = static_cast<int64_t>(std::count_if(
      patches_.begin(), patches_.end(), [](const Frame& frame) { return frame.scale; }));
  stats.window_pages = static_cast<int64_t>(patches_.size()) - stats.scale_pages;
  stats.retained_frames = static_cast<int64_t>(trajectory_.size());
  stats.special_tokens = stats.retained_frames * config_.specials_per_frame;
  for (int64_t left = stats.special_tokens; left > 0; left -= config_.page_size) {
    ++stats.special_pages;
    stats.last_page_len = std::min(left, config_.page_size);
  }
  if (stats.special_pages == 0) stats.last_page_len = config_.page_size;
  stats.free_pages =
      config_.scale_frames + config_.sliding_window + 1 - stats.scale_pages - stats.window_pages;
  return stats;
}

int64_t UnpoisonedFloats(const KvCache& cache) {
  const KvCacheConfig& config = cache.config();
  const CacheStats stats = cache.stats();
  const auto not_nan = [](std::span<const std::byte> bytes, DType dtype) {
    int64_t count = 0;
    const auto elements = static_cast<int64_t>(bytes.size() / SizeOf(dtype));
    for (int64_t i = 0; i < elements; ++i) count += !std::isnan(Load(bytes.data(), dtype, i));
    return count;
  };
  const int64_t tokens =
      (stats.scale_pages + stats.window_pages) * config.page_size + stats.special_tokens;
  const int64_t used = config.blocks * 2 * tokens * config.heads * config.head_dim;
  const int64_t camera_used = config.camera.passes * config.camera.blocks * 2 *
                              stats.retained_frames * config.camera.heads * config.camera.head_dim;
  return std::abs(not_nan(cache.store().bytes(), config.dtype) - used) +
         std::abs(not_nan(cache.camera().bytes(), DType::kF32) - camera_used);
}

}  // namespace lingbot::testing
