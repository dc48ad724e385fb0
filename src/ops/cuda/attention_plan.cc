#include "ops/cuda/attention_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

#include "base/check.h"

namespace lingbot::ops::cuda {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
// A segment shorter than this many tiles of keys costs more in prologue and merge than it gains.
constexpr int kMinTilesPerSegment = 4;
// Fewer tokens than this are not worth a chunk of their own (FlashInfer's planner agrees).
constexpr int kFa2MinChunk = 128;

// Hands out positions inside one block of int32, each array on a 16-byte boundary.
class Allocator {
 public:
  int Take(int64_t count) {
    const int64_t begin = size_;
    size_ += (count + 3) / 4 * 4;
    Check(size_ <= kMaxInt, ErrorCode::kInternal, "attention work list of {} entries", size_);
    return static_cast<int>(begin);
  }
  int size() const { return static_cast<int>(size_); }

 private:
  int64_t size_ = 0;
};

struct WorkItem {
  int head = 0;
  int q_tile = 0;
  int q_begin = 0;
  int page_begin = 0;
  int q_len = 0;
  int kv_len = 0;
  int segment = 0;
};

// Gives each item to the block that has the least to do so far. Items come in the order in which
// those that read the same keys follow each other: blocks that run together share them in the L2.
void Distribute(const Fa3Layout& layout, const std::vector<WorkItem>& items, int tile_kv,
                std::span<int32_t> data) {
  Check(items.size() <= static_cast<size_t>(layout.capacity) &&
            data.size() >= static_cast<size_t>(layout.size),
        ErrorCode::kInternal, "attention work list: {} items in a list for {}", items.size(),
        layout.capacity);
  constexpr int kPrologue = 2;  // in tiles of keys
  using Load = std::pair<int64_t, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int block = 0; block < layout.blocks; ++block) {
    loads.emplace(0, block);
  }
  std::vector<std::vector<int>> lists(layout.blocks);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto [load, block] = loads.top();
    loads.pop();
    lists[block].push_back(static_cast<int>(i));
    loads.emplace(load + CeilDiv(items[i].kv_len, tile_kv) + kPrologue, block);
  }
  int next = 0;
  for (int block = 0; block < layout.blocks; ++block) {
    data[layout.block_begin + block] = next;
    for (const int i : lists[block]) {
      const WorkItem& item = items[i];
      data[layout.head + next] = item.head;
      data[layout.q_tile + next] = item.q_tile;
      data[layout.q_begin + next] = item.q_begin;
      data[layout.page_begin + next] = item.page_begin;
      data[layout.q_len + next] = item.q_len;
      data[layout.kv_len + next] = item.kv_len;
      data[layout.segment + next] = item.segment;
      ++next;
    }
  }
  data[layout.block_begin + layout.blocks] = next;
}

int Fa2Chunks(int q_tokens, int heads, int multiprocessors) {
  const int tiles = CeilDiv(q_tokens, kFa2TileQ);
  return std::max(1, Fa2Capacity(q_tokens, heads, multiprocessors) / tiles);
}

}  // namespace

void CheckStep(const PagedStep& step, const PagedLimits& limits) {
  Check(step.q_tokens >= 1 && step.q_tokens <= limits.max_q_tokens, ErrorCode::kInternal,
        "paged attention: {} query rows, planned for 1 to {}", step.q_tokens, limits.max_q_tokens);
  const int64_t full = static_cast<int64_t>(step.pages - 1) * step.page_size;
  Check(step.page_size >= 1 && step.pages >= 1 && step.kv_tokens > full &&
            step.kv_tokens <= full + step.page_size && step.kv_tokens <= kMaxInt,
        ErrorCode::kInternal, "paged attention: {} tokens do not fill {} pages of {}",
        step.kv_tokens, step.pages, step.page_size);
}

void CheckFrames(const FrameShape& shape) {
  const int64_t rows = static_cast<int64_t>(shape.frames) * shape.tokens;
  Check(shape.frames >= 1 && shape.tokens >= 1 && shape.heads >= 1 && shape.head_dim >= 1 &&
            rows <= kMaxInt,
        ErrorCode::kInternal, "frame attention: {} frames of {} tokens, {} heads of {}",
        shape.frames, shape.tokens, shape.heads, shape.head_dim);
}

std::vector<KvSegment> CutPages(const PagedStep& step, int count) {
  Check(count >= 1 && count <= step.pages, ErrorCode::kInternal, "{} pages cut into {} segments",
        step.pages, count);
  std::vector<KvSegment> segments;
  for (int i = 0; i < count; ++i) {
    const int64_t begin = static_cast<int64_t>(step.pages) * i / count;
    const int64_t end = static_cast<int64_t>(step.pages) * (i + 1) / count;
    const int64_t last_token = std::min(step.kv_tokens, end * step.page_size);
    segments.push_back(
        {static_cast<int>(begin), static_cast<int>(last_token - begin * step.page_size)});
  }
  return segments;
}

Fa2Layout MakeFa2Layout(int capacity, int requests, int max_rows) {
  Fa2Layout layout;
  layout.capacity = capacity;
  layout.requests = requests;
  layout.max_rows = max_rows;
  Allocator allocator;
  layout.request = allocator.Take(capacity);
  layout.q_tile = allocator.Take(capacity);
  layout.kv_tile = allocator.Take(capacity);
  layout.o_indptr = allocator.Take(requests + 1);
  layout.q_indptr = allocator.Take(requests + 1);
  layout.kv_indptr = allocator.Take(requests + 1);
  layout.last_page = allocator.Take(requests);
  layout.chunk_tokens = allocator.Take(1);
  layout.total_rows = allocator.Take(1);
  layout.merge_indptr = allocator.Take(static_cast<int64_t>(max_rows) + 1);
  layout.valid = allocator.Take(CeilDiv(capacity, 4));
  layout.pages = allocator.Take(requests);
  layout.size = allocator.size();
  return layout;
}

int Fa2Capacity(int q_tokens, int heads, int multiprocessors) {
  return std::max(CeilDiv(q_tokens, kFa2TileQ), 2 * multiprocessors / heads);
}

int64_t Fa2PartRows(int q_tokens, int heads, int multiprocessors) {
  // Fewer rows may be cut into more chunks: as many tiles as fill the device, whatever q_tokens is.
  return static_cast<int64_t>(Fa2Capacity(q_tokens, heads, multiprocessors)) * kFa2TileQ;
}

void FillFa2Paged(const Fa2Layout& layout, const PagedStep& step, int heads, int multiprocessors,
                  std::span<int32_t> data) {
  const int tiles = CeilDiv(step.q_tokens, kFa2TileQ);
  const int wanted = Fa2Chunks(step.q_tokens, heads, multiprocessors);
  const int64_t chunk_tokens =
      static_cast<int64_t>(CeilDiv(CeilDiv(step.kv_tokens, wanted), kFa2MinChunk)) * kFa2MinChunk;
  const int chunks = CeilDiv(step.kv_tokens, chunk_tokens);
  const int works = tiles * chunks;
  Check(works <= layout.capacity && step.q_tokens <= layout.max_rows && layout.requests == 1 &&
            data.size() >= static_cast<size_t>(layout.size),
        ErrorCode::kInternal, "attention work list: {} items in a list for {}", works,
        layout.capacity);
  auto* valid = reinterpret_cast<uint8_t*>(&data[layout.valid]);
  for (int i = 0; i < layout.capacity; ++i) {
    const bool used = i < works;
    data[layout.request + i] = 0;
    data[layout.q_tile + i] = used ? i / chunks : 0;
    data[layout.kv_tile + i] = used ? i % chunks : 0;
    valid[i] = used ? 1 : 0;
  }
  for (int row = 0; row <= step.q_tokens; ++row) {
    data[layout.merge_indptr + row] = row * chunks;
  }
  data[layout.o_indptr] = data[layout.q_indptr] = data[layout.kv_indptr] = 0;
  data[layout.o_indptr + 1] = step.q_tokens * chunks;
  data[layout.q_indptr + 1] = step.q_tokens;
  data[layout.kv_indptr + 1] = step.pages;
  data[layout.last_page] =
      static_cast<int>(step.kv_tokens - static_cast<int64_t>(step.pages - 1) * step.page_size);
  data[layout.chunk_tokens] = static_cast<int>(std::min(chunk_tokens, kMaxInt));
  data[layout.total_rows] = step.q_tokens;
}

void FillFa2Frames(const Fa2Layout& layout, const FrameShape& shape, std::span<int32_t> data) {
  const int tiles = CeilDiv(shape.tokens, kFa2TileQ);
  Check(layout.requests == shape.frames && layout.capacity == shape.frames * tiles &&
            data.size() >= static_cast<size_t>(layout.size),
        ErrorCode::kInternal, "attention work list for {} frames used for {}", layout.requests,
        shape.frames);
  for (int frame = 0; frame < shape.frames; ++frame) {
    for (int tile = 0; tile < tiles; ++tile) {
      data[layout.request + frame * tiles + tile] = frame;
      data[layout.q_tile + frame * tiles + tile] = tile;
      data[layout.kv_tile + frame * tiles + tile] = 0;
    }
    data[layout.last_page + frame] = shape.tokens;
    data[layout.pages + frame] = frame * shape.tokens;
  }
  for (int frame = 0; frame <= shape.frames; ++frame) {
    data[layout.o_indptr + frame] = frame * shape.tokens;
    data[layout.q_indptr + frame] = frame * shape.tokens;
    data[layout.kv_indptr + frame] = frame;
  }
  data[layout.chunk_tokens] = shape.tokens;
  data[layout.total_rows] = shape.frames * shape.tokens;
}

Fa3Layout MakeFa3Layout(int blocks, int capacity, int pages_capacity) {
  Fa3Layout layout;
  layout.blocks = blocks;
  layout.capacity = capacity;
  Allocator allocator;
  layout.segments = allocator.Take(1);
  layout.block_begin = allocator.Take(blocks + 1);
  for (int* array : {&layout.head, &layout.q_tile, &layout.q_begin, &layout.page_begin,
                     &layout.q_len, &layout.kv_len, &layout.segment}) {
    *array = allocator.Take(capacity);
  }
  layout.pages = allocator.Take(pages_capacity);
  layout.size = allocator.size();
  return layout;
}

int Fa3MaxSegments(int q_tokens, int heads, Fa3Tile tile, int blocks) {
  // Four rounds of work leave at most a quarter of the last one idle; beyond that only the partial
  // results grow. Sixteen for the smallest problems.
  const int items = heads * CeilDiv(q_tokens, tile.q);
  return std::clamp(CeilDiv(4 * static_cast<int64_t>(blocks), items), 1, 16);
}

int Fa3Capacity(int q_tokens, int heads, Fa3Tile tile, int blocks) {
  // items * segments < items * (4 * blocks / items + 1), and fewer rows make no more of it.
  return 4 * blocks + heads * CeilDiv(q_tokens, tile.q);
}

int Fa3ChooseSegments(const PagedStep& step, int heads, Fa3Tile tile, int blocks) {
  const int items = heads * CeilDiv(step.q_tokens, tile.q);
  const int kv_tiles = CeilDiv(step.kv_tokens, tile.kv);
  const int most = std::min({Fa3MaxSegments(step.q_tokens, heads, tile, blocks), step.pages,
                             std::max(1, kv_tiles / kMinTilesPerSegment)});
  int best = 1;
  double least = std::numeric_limits<double>::max();
  for (int count = 1; count <= most; ++count) {
    const int64_t longest_tokens = std::min<int64_t>(
        step.kv_tokens, static_cast<int64_t>(CeilDiv(step.pages, count)) * step.page_size);
    const int rounds = CeilDiv(static_cast<int64_t>(items) * count, blocks);
    // In tiles of keys: two for each item's prologue; the merge costs about two and half a tile a
    // part.
    const double merge = count > 1 ? 2 + 0.5 * count : 0;
    const double cost = rounds * (CeilDiv(longest_tokens, tile.kv) + 2.0) + merge;
    if (cost < least * 0.999) {
      least = cost;
      best = count;
    }
  }
  return best;
}

void FillFa3Paged(const Fa3Layout& layout, const PagedStep& step, int heads, Fa3Tile tile,
                  int segments, std::span<int32_t> data) {
  const int q_tiles = CeilDiv(step.q_tokens, tile.q);
  std::vector<WorkItem> items;
  items.reserve(static_cast<size_t>(segments) * heads * q_tiles);
  int index = 0;
  for (const KvSegment& segment : CutPages(step, segments)) {
    for (int head = 0; head < heads; ++head) {
      for (int q_tile = 0; q_tile < q_tiles; ++q_tile) {
        items.push_back(
            {head, q_tile, 0, segment.first_page, step.q_tokens, segment.tokens, index});
      }
    }
    ++index;
  }
  Distribute(layout, items, tile.kv, data);
  data[layout.segments] = segments;
}

void FillFa3Frames(const Fa3Layout& layout, const FrameShape& shape, Fa3Tile tile,
                   std::span<int32_t> data) {
  Check(
      data.size() >= static_cast<size_t>(layout.size) && layout.size - layout.pages >= shape.frames,
      ErrorCode::kInternal, "attention work list without room for {} frames", shape.frames);
  std::vector<WorkItem> items;
  for (int frame = 0; frame < shape.frames; ++frame) {
    for (int head = 0; head < shape.heads; ++head) {
      for (int q_tile = 0; q_tile < CeilDiv(shape.tokens, tile.q); ++q_tile) {
        items.push_back({head, q_tile, frame * shape.tokens, frame, shape.tokens, shape.tokens, 0});
      }
    }
    data[layout.pages + frame] = frame * shape.tokens;
  }
  Distribute(layout, items, tile.kv, data);
  data[layout.segments] = 1;
}

uint64_t Signature(std::initializer_list<int64_t> values) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a over 64-bit words, then a final mix
  for (const int64_t value : values) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001B3u;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace lingbot::ops::cuda
