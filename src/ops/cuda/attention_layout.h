#ifndef LINGBOT_OPS_CUDA_ATTENTION_LAYOUT_H_
#define LINGBOT_OPS_CUDA_ATTENTION_LAYOUT_H_

namespace lingbot::ops::cuda {

// Where the kernels find the arrays of a work list: positions, in int32, within one block of device
// memory. Device code includes this, so it stays within C++17.

// ---- FlashInfer FA2: a grid of (query tile, KV chunk) pairs for every head ----

inline constexpr int kFa2TileQ = 128;

struct Fa2Layout {
  int capacity = 0;  // (query tile, chunk) pairs
  int requests = 0;
  int max_rows = 0;
  int request = 0, q_tile = 0, kv_tile = 0;       // [capacity] each
  int o_indptr = 0, q_indptr = 0, kv_indptr = 0;  // [requests + 1] each
  int last_page = 0;                              // [requests]
  int chunk_tokens = 0, total_rows = 0;           // one each
  int merge_indptr = 0;                           // [max_rows + 1]
  int valid = 0;                                  // [capacity] bytes
  int pages = 0;                                  // [requests]
  int size = 0;
};
// ---- FlashInfer FA3: persistent blocks, each with its own list of work items ----

struct Fa3Tile {
  int q = 0;
  int kv = 0;
  int stages = 2;  // tiles of K, and of V, in shared memory
};
// The tiles that are compiled; kv may not exceed 128 (the loader keeps one row offset per thread).
constexpr Fa3Tile Fa3TileFor(int head_dim) {
  return head_dim == 64 ? Fa3Tile{128, 128, 2} : Fa3Tile{128, 96, 2};
}

struct Fa3Layout {
  int blocks = 0;
  int capacity = 0;                 // work items
  int segments = 0;                 // one: how many parts the merge joins
  int block_begin = 0;              // [blocks + 1]
  int head = 0, q_tile = 0;         // [capacity] each
  int q_begin = 0, page_begin = 0;  // [capacity] each
  int q_len = 0, kv_len = 0;        // [capacity] each
  int segment = 0;                  // [capacity]
  int pages = 0;                    // [pages_capacity]
  int size = 0;
};
}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_ATTENTION_LAYOUT_H_
