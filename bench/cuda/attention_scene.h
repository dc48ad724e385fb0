#ifndef LINGBOT_BENCH_CUDA_ATTENTION_SCENE_H_
#define LINGBOT_BENCH_CUDA_ATTENTION_SCENE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "ops/cuda/device_bytes.h"
#include "ops/cuda/reference/attention.h"

namespace lingbot::bench {

using ops::cuda::CudaStream;
using ops::cuda::reference::Problem;

enum class Layout { kPlanes, kScatteredPlanes, kInterleaved };
const char* NameOf(Layout layout);

// One attention problem: `patch_pages` full pages and then `special_tokens` more, packed densely
// into pages of the same size.
struct Case {
  Layout layout = Layout::kPlanes;
  DType dtype = DType::kBF16;
  int heads = 2;
  int head_dim = 64;
  int q_tokens = 1;
  int page_size = 1;
  int patch_pages = 1;
  int special_tokens = 0;
  float q_scale = 2.0f;  // makes the softmax less flat

  int64_t kv_tokens() const {
    return static_cast<int64_t>(patch_pages) * page_size + special_tokens;
  }
  int pages() const { return patch_pages + (special_tokens + page_size - 1) / page_size; }
  std::string ToString() const;
};

// The case in device memory: every byte that is not a visible row, a query row or its tail is NaN.
//   kPlanes           as the cache lays them out: specials grow downwards in front of the patch
//                     pages, one page of which is a hole
//   kScatteredPlanes  pages start at arbitrary rows, in random order, with gaps
//   kInterleaved      [pages, 2, page_size, heads, head_dim] in random order, with unused pages
class Scene {
 public:
  Scene(const Case& wanted, uint64_t seed, CudaStream stream);

  const Problem& problem() const { return problem_; }
  ops::cuda::PagedStep step() const;
  ops::cuda::PagedCall call() const;
  void* out() const { return out_->data(); }
  size_t out_bytes() const { return out_bytes_; }
  void PoisonOut(CudaStream stream) const {
    ops::cuda::reference::Poison(out(), out_bytes_, stream);
  }

 private:
  std::vector<int32_t> PlacePlanes(uint64_t seed);
  std::vector<int32_t> PlaceInterleaved(uint64_t seed);

  Case case_;
  Problem problem_;
  int64_t pool_elements_ = 0;  // of K and V together
  int64_t v_offset_ = 0;
  size_t out_bytes_ = 0;
  std::unique_ptr<ops::cuda::DeviceBytes> pool_, q_, out_, pages_;
};

// Rows worth a look: both ends, tile edges, and some at random; at most `count`.
std::vector<int32_t> SampleRows(int q_tokens, int count, uint64_t seed);

}  // namespace lingbot::bench

#endif  // LINGBOT_BENCH_CUDA_ATTENTION_SCENE_H_
