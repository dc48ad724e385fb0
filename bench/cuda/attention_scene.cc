#include "attention_scene.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "ops/cuda/check.h"

namespace lingbot::bench {

using ops::cuda::CheckCuda;
using ops::cuda::DeviceBytes;
using ops::cuda::reference::FillProblem;
using ops::cuda::reference::Poison;

const char* NameOf(Layout layout) {
  switch (layout) {
    case Layout::kPlanes:
      return "planes";
    case Layout::kScatteredPlanes:
      return "scattered";
    case Layout::kInterleaved:
      return "interleaved";
  }
  return "?";
}

std::string Case::ToString() const {
  return fmt::format("{:<11} {} {}x{} q {} page {} pages {}+{} kv {}", bench::NameOf(layout),
                     lingbot::NameOf(dtype), heads, head_dim, q_tokens, page_size, patch_pages,
                     special_tokens, kv_tokens());
}

Scene::Scene(const Case& wanted, uint64_t seed, CudaStream stream) : case_(wanted) {
  const int64_t row = static_cast<int64_t>(case_.heads) * case_.head_dim;
  const size_t element = SizeOf(case_.dtype);
  const std::vector<int32_t> pages =
      case_.layout == Layout::kInterleaved ? PlaceInterleaved(seed) : PlacePlanes(seed);
  problem_.element_bytes = static_cast<int>(element);
  problem_.heads = case_.heads;
  problem_.head_dim = case_.head_dim;
  problem_.q_tokens = case_.q_tokens;
  problem_.page_size = case_.page_size;
  problem_.kv_tokens = case_.kv_tokens();
  problem_.q_token_stride = 3 * row;
  const size_t q_bytes = case_.q_tokens * problem_.q_token_stride * element;
  const size_t pool_bytes = static_cast<size_t>(pool_elements_) * element;
  out_bytes_ = case_.q_tokens * row * element;
  pool_ = std::make_unique<DeviceBytes>(pool_bytes);
  q_ = std::make_unique<DeviceBytes>(q_bytes);
  out_ = std::make_unique<DeviceBytes>(out_bytes_);
  pages_ = std::make_unique<DeviceBytes>(pages.size() * sizeof(int32_t));
  CheckCuda(cudaMemcpy(pages_->data(), pages.data(), pages.size() * sizeof(int32_t),
                       cudaMemcpyHostToDevice),
            "cudaMemcpy");
  problem_.q = q_->data();
  problem_.kv.k = pool_->data();
  problem_.kv.v = static_cast<char*>(pool_->data()) + static_cast<size_t>(v_offset_) * element;
  problem_.kv.pages = static_cast<const int32_t*>(pages_->data());
  Poison(pool_->data(), pool_bytes, stream);
  Poison(q_->data(), q_bytes, stream);
  FillProblem(problem_, seed, case_.q_scale, stream);
}

std::vector<int32_t> Scene::PlacePlanes(uint64_t seed) {
  const int64_t row = static_cast<int64_t>(case_.heads) * case_.head_dim;
  const int page = case_.page_size;
  const int special_pages = case_.pages() - case_.patch_pages;
  std::vector<int32_t> pages;
  int64_t rows = 0;
  if (case_.layout == Layout::kPlanes) {
    const int free_rows = 5;  // in front of the specials, still to be used
    const int patch_begin = free_rows + case_.special_tokens;
    const int hole = case_.patch_pages / 2;  // a page evicted and not used again yet
    for (int i = 0; i < case_.patch_pages; ++i) {
      pages.push_back(patch_begin + (i < hole ? i : i + 1) * page);
    }
    for (int i = 0; i < special_pages; ++i) {
      pages.push_back(free_rows + i * page);
    }
    rows = patch_begin + static_cast<int64_t>(case_.patch_pages + 1) * page;
  } else {
    std::mt19937_64 random(seed);
    pages.resize(case_.pages());
    std::vector<int> order(pages.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const int i : order) {
      rows += static_cast<int64_t>(random() % 4);
      pages[i] = static_cast<int32_t>(rows);
      rows += page;
    }
  }
  problem_.kv.page_stride = problem_.kv.token_stride = row;
  v_offset_ = rows * row;
  pool_elements_ = 2 * rows * row;
  return pages;
}

std::vector<int32_t> Scene::PlaceInterleaved(uint64_t seed) {
  const int64_t row = static_cast<int64_t>(case_.heads) * case_.head_dim;
  const int unused = 2;
  std::vector<int32_t> pages(case_.pages() + unused);
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937_64(seed));
  problem_.kv.token_stride = row;
  problem_.kv.page_stride = 2 * case_.page_size * row;
  v_offset_ = case_.page_size * row;
  pool_elements_ = static_cast<int64_t>(pages.size()) * problem_.kv.page_stride;
  pages.resize(case_.pages());
  return pages;
}

ops::cuda::PagedStep Scene::step() const {
  return {case_.q_tokens, case_.page_size, case_.pages(), case_.kv_tokens()};
}

ops::cuda::PagedCall Scene::call() const {
  return {problem_.q, problem_.q_token_stride, out_->data(), problem_.kv};
}

std::vector<int32_t> SampleRows(int q_tokens, int count, uint64_t seed) {
  std::set<int32_t> rows;
  for (const int row : {0, q_tokens - 1, q_tokens / 2, 63, 64, 127, 128, 191, 192}) {
    if (row < q_tokens && static_cast<int>(rows.size()) < count) rows.insert(row);
  }
  std::mt19937_64 random(seed);
  while (static_cast<int>(rows.size()) < std::min(count, q_tokens)) {
    rows.insert(static_cast<int32_t>(random() % q_tokens));
  }
  return {rows.begin(), rows.end()};
}

}  // namespace lingbot::bench
