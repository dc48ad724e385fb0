#ifndef LINGBOT_OPS_ATTENTION_SCENE_H_
#define LINGBOT_OPS_ATTENTION_SCENE_H_

// Queries, a paged cache and the attention that is expected of them; for tests only.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/attention.h"
#include "tensor/buffer.h"

namespace lingbot::ops {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t tokens;
  int64_t page_size;
  int64_t pages;
  int64_t last_page_len;
  int64_t heads;
  int64_t head_dim;
  DType dtype = DType::kF32;
  KvLayout layout = KvLayout::kPlanes;
  float query_scale = 1.0f;

  int64_t kv_tokens() const { return (pages - 1) * page_size + last_page_len; }
  std::string Name() const {
    return fmt::format("{} x {} pages of {} (last {}), {} heads of {}, {}, {}", tokens, pages,
                       page_size, last_page_len, heads, head_dim, NameOf(dtype),
                       layout == KvLayout::kPlanes ? "planes" : "interleaved");
  }
};

inline std::vector<float> Random(int64_t count, uint32_t seed, float scale = 1.0f) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1.7f * scale, 1.7f * scale);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

inline float ReadElement(const void* data, DType dtype, int64_t index) {
  return dtype == DType::kF32 ? static_cast<const float*>(data)[index]
                              : ToFloat(static_cast<const BFloat16*>(data)[index]);
}

inline void WriteElement(void* data, DType dtype, int64_t index, float value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(data)[index] = value;
  } else {
    static_cast<BFloat16*>(data)[index] = ToBFloat16(value);
  }
}

// Element offset of (page, token, head, 0).
inline int64_t Offset(const PagedKvView& kv, int64_t page, int64_t token, int64_t head) {
  return page * kv.page_stride + token * kv.token_stride + head * kv.head_stride;
}

// Queries and a cache of two more pages than are visible, in random order; every token that is
// not visible is NaN.
class Scene {
 public:
  explicit Scene(const Case& c)
      : case_(c),
        q_(Random(c.tokens * c.heads * c.head_dim, 7, c.query_scale)),
        pages_(c.pages + 2) {
    std::iota(pages_.begin(), pages_.end(), 0);
    std::shuffle(pages_.begin(), pages_.end(), std::minstd_rand(3));
    pages_.resize(c.pages);
    const int64_t plane = c.page_size * c.heads * c.head_dim;
    pool_ = Buffer(c.dtype, {c.pages + 2, 2, plane});
    for (int64_t i = 0; i < 2 * (c.pages + 2) * plane; ++i) {
      WriteElement(pool_.view().raw(), c.dtype, i, kNaN);
    }
    const bool planes = c.layout == KvLayout::kPlanes;
    view_ = {.k = pool_.view().raw(),
             .v = static_cast<std::byte*>(pool_.view().raw()) +
                  (planes ? (c.pages + 2) * plane : plane) * SizeOf(c.dtype),
             .dtype = c.dtype,
             .page_stride = planes ? plane : 2 * plane,
             .token_stride = c.heads * c.head_dim,
             .head_stride = c.head_dim,
             .page_size = c.page_size,
             .pages = pages_,
             .last_page_len = c.last_page_len};
    Fill(view_.k, 11);
    Fill(view_.v, 13);
  }

  const Case& shape() const { return case_; }
  const PagedKvView& view() const { return view_; }
  std::vector<int32_t>& pages() { return pages_; }
  TensorView q() {
    return TensorView(q_.data(), DType::kF32, {case_.tokens, case_.heads, case_.head_dim});
  }

  // The workspace is exactly as large as planned, so that taking more throws.
  std::vector<float> Run(AttentionBackend backend, int threads = 2) {
    const size_t bytes = AttentionWorkspaceBytes(backend, threads, case_.tokens, case_.kv_tokens(),
                                                 case_.heads, case_.head_dim);
    Context context(threads, bytes);
    std::vector<float> out(q_.size(), kNaN);
    PagedAttention(context, backend, q(), view_, kUnbounded,
                   TensorView(out.data(), DType::kF32, q().shape()));
    EXPECT_EQ(LastAttentionBackend(context), ResolveAttentionBackend(backend));
    EXPECT_GT(context.arena().high_water(), 0u);
    EXPECT_LE(context.arena().high_water(), bytes);
    return out;
  }

  // The definition, in double precision; computed once for all back ends.
  const std::vector<float>& Expected() const {
    static std::map<std::string, std::vector<float>> known;
    std::vector<float>& out = known[fmt::format("{}, {}", case_.Name(), case_.query_scale)];
    if (!out.empty()) return out;
    out.resize(q_.size());
    for (int64_t row = 0; row < case_.tokens; ++row) {
      for (int64_t head = 0; head < case_.heads; ++head) {
        const int64_t at = (row * case_.heads + head) * case_.head_dim;
        ExpectedRow(&q_[at], head, &out[at]);
      }
    }
    return out;
  }

 private:
  void ForEachToken(auto&& body) const {
    for (int64_t i = 0; i < case_.kv_tokens(); ++i) {
      body(pages_[i / case_.page_size], i % case_.page_size);
    }
  }

  void Fill(const void* data, uint32_t seed) {
    const auto values = Random(case_.kv_tokens() * case_.heads * case_.head_dim, seed);
    size_t next = 0;
    ForEachToken([&](int64_t page, int64_t token) {
      for (int64_t i = 0; i < case_.heads * case_.head_dim; ++i) {
        WriteElement(const_cast<void*>(data), case_.dtype, Offset(view_, page, token, 0) + i,
                     values[next++]);
      }
    });
  }

  void ExpectedRow(const float* query, int64_t head, float* out) const {
    std::vector<double> scores;
    ForEachToken([&](int64_t page, int64_t token) {
      double dot = 0.0;
      for (int64_t c = 0; c < case_.head_dim; ++c) {
        dot += static_cast<double>(query[c]) *
               ReadElement(view_.k, case_.dtype, Offset(view_, page, token, head) + c);
      }
      scores.push_back(dot / std::sqrt(static_cast<double>(case_.head_dim)));
    });
    const double largest = *std::ranges::max_element(scores);
    double weight_sum = 0.0;
    std::vector<double> sums(case_.head_dim, 0.0);
    size_t next = 0;
    ForEachToken([&](int64_t page, int64_t token) {
      const double weight = std::exp(scores[next++] - largest);
      weight_sum += weight;
      for (int64_t c = 0; c < case_.head_dim; ++c) {
        sums[c] += weight * ReadElement(view_.v, case_.dtype, Offset(view_, page, token, head) + c);
      }
    });
    for (int64_t c = 0; c < case_.head_dim; ++c) out[c] = static_cast<float>(sums[c] / weight_sum);
  }

  Case case_;
  std::vector<float> q_;
  std::vector<int32_t> pages_;
  Buffer pool_;
  PagedKvView view_;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_ATTENTION_SCENE_H_
