#include "ops/attention.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/system_memory.h"
#include "hwy/highway.h"
#include "lingbot/error.h"
#include "ops/attention_scene.h"
#include "tensor/buffer.h"

namespace lingbot::ops {
namespace {

constexpr AttentionBackend kBackends[] = {AttentionBackend::kReference, AttentionBackend::kCpu,
                                          AttentionBackend::kSdpa};

// || a - b || / || b ||; NaN if any element is.
double RelativeL2(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0;
  double norm = 0.0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

const Case kCases[] = {
    {1, 1, 1, 1, 1, 8},       {5, 1, 7, 1, 2, 16},       {6, 7, 5, 3, 3, 40},
    {7, 127, 3, 127, 2, 64},  {114, 128, 2, 1, 2, 64},   {5, 129, 4, 128, 1, 128},
    {6, 256, 3, 255, 2, 8},   {783, 777, 2, 6, 1, 64},   {7, 972, 3, 971, 2, 64},
    {5, 999, 2, 1, 16, 16},   {6, 1036, 2, 1036, 3, 40}, {5, 1369, 73, 1368, 1, 64},
    {1, 1369, 73, 6, 1, 128}, {1, 999, 2, 130, 16, 128}, {4, 777, 3, 64, 3, 40},
    {2, 65, 3, 63, 2, 16},    {3, 1, 73, 1, 2, 8},       {24, 64, 2, 64, 1, 64},
    {25, 65, 2, 1, 1, 64},    {9, 66, 1, 66, 16, 64},    {17, 63, 4, 5, 2, 128},
    {33, 67, 2, 61, 2, 256},  {830, 130, 2, 3, 1, 8},    {49, 68, 2, 62, 3, 248},
};

struct Kind {
  DType dtype;
  KvLayout layout;
};

class AttentionTest : public testing::TestWithParam<std::tuple<AttentionBackend, Kind>> {
 protected:
  AttentionBackend backend() const { return std::get<0>(GetParam()); }
  Case With(Case c) const {
    c.dtype = std::get<1>(GetParam()).dtype;
    c.layout = std::get<1>(GetParam()).layout;
    return c;
  }
};

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         testing::Combine(testing::ValuesIn(kBackends),
                                          testing::Values(Kind{DType::kF32, KvLayout::kPlanes},
                                                          Kind{DType::kF32, KvLayout::kInterleaved},
                                                          Kind{DType::kBF16, KvLayout::kPlanes},
                                                          Kind{DType::kBF16,
                                                               KvLayout::kInterleaved})),
                         [](const auto& param) {
                           const Kind kind = std::get<1>(param.param);
                           return std::string(NameOf(std::get<0>(param.param))) + "_" +
                                  NameOf(kind.dtype) +
                                  (kind.layout == KvLayout::kPlanes ? "_planes" : "_interleaved");
                         });

// Relative L2. bfloat16 rounds what is stored, not what is computed: one tolerance for both. The
// matrix library sums all of 100,000 products in float32, one after another.
double Tolerance(AttentionBackend backend) {
  return backend == AttentionBackend::kSdpa ? 5e-6 : 1e-6;
}

TEST_P(AttentionTest, MatchesTheDefinition) {
  for (const Case& plain : kCases) {
    Scene scene(With(plain));
    EXPECT_LE(RelativeL2(scene.Run(backend()), scene.Expected()), Tolerance(backend()))
        << scene.shape().Name();
  }
}

TEST_P(AttentionTest, MatchesTheDefinitionAtRandomShapes) {
  std::minstd_rand generator(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t page_size = pick(1, 150);
    Scene scene(
        With({pick(1, 60), page_size, pick(1, 5), pick(1, page_size), pick(1, 3), 8 * pick(1, 9)}));
    EXPECT_LE(RelativeL2(scene.Run(backend()), scene.Expected()), Tolerance(backend()))
        << scene.shape().Name();
  }
}

// Scores of several hundred: a token more or less decides a row, and the rounding of a score counts
// as much as the score is large.
TEST_P(AttentionTest, StandsLargeScores) {
  for (Case c : {Case{37, 99, 3, 11, 2, 64}, Case{2, 99, 3, 11, 2, 64}}) {
    c.query_scale = 300.0f;
    Scene scene(With(c));
    EXPECT_LE(RelativeL2(scene.Run(backend()), scene.Expected()), 1e-3) << scene.shape().Name();
  }
}

TEST_P(AttentionTest, DoesNotDependOnPageOrder) {
  for (const Case& c : {Case{37, 77, 9, 77, 2, 64}, Case{1, 77, 9, 77, 2, 64}}) {
    Scene scene(With(c));
    const auto before = scene.Run(backend());
    std::ranges::reverse(scene.pages());
    EXPECT_LE(RelativeL2(scene.Run(backend()), before), 1e-6);
  }
}

TEST_P(AttentionTest, RepeatsToTheLastBit) {
  for (const Case& c : {Case{114, 77, 9, 5, 3, 64}, Case{2, 77, 9, 5, 3, 64}}) {
    Scene scene(With(c));
    EXPECT_EQ(scene.Run(backend()), scene.Run(backend()));
  }
}

TEST_P(AttentionTest, DoesNotDependOnThreads) {
  if (backend() == AttentionBackend::kSdpa)
    GTEST_SKIP() << "the matrix library does not promise it";
  for (const Case& c :
       {Case{783, 77, 2, 5, 3, 16}, Case{114, 77, 9, 5, 1, 64}, Case{2, 9, 9, 5, 7, 8}}) {
    Scene scene(With(c));
    const auto one = scene.Run(backend(), 1);
    for (const int threads : {2, 3, 16}) EXPECT_EQ(scene.Run(backend(), threads), one) << threads;
  }
}

TEST_P(AttentionTest, KeepsNaNQueriesInTheirRow) {
  for (const Case& c : {Case{37, 70, 2, 5, 2, 64}, Case{3, 70, 2, 5, 2, 64}}) {
    Scene scene(With(c));
    const auto clean = scene.Run(backend());
    const int64_t row = c.tokens - 1;
    const int64_t width = c.heads * c.head_dim;
    std::fill_n(scene.q().data<float>() + row * width, width, kNaN);
    const auto out = scene.Run(backend());
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + row * width, clean.begin()));
    EXPECT_TRUE(std::all_of(out.begin() + row * width, out.end(), [](float x) { return x != x; }));
  }
}

// The cases above would prove nothing if NaN in the cache could not be seen.
TEST_P(AttentionTest, ShowsNaNInVisibleTokens) {
  for (const Case& c : {Case{37, 70, 2, 5, 1, 64}, Case{3, 70, 2, 5, 1, 64}}) {
    for (const bool key : {false, true}) {
      Scene scene(With(c));
      const PagedKvView& view = scene.view();
      WriteElement(const_cast<void*>(key ? view.k : view.v), view.dtype,
                   Offset(view, view.pages[1], 4, 0), kNaN);
      const auto out = scene.Run(backend());
      for (int64_t row = 0; row < c.tokens; ++row) EXPECT_TRUE(std::isnan(out[row * c.head_dim]));
    }
  }
}

TEST_P(AttentionTest, ServesLoopsOfOtherPeoplesThreads) {
  Scene scene(With({37, 70, 2, 5, 3, 16}));
  const auto expected = scene.Run(backend(), 1);
  std::vector<std::vector<float>> out(4);
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 4; ++i) out[i] = scene.Run(backend(), 1);
  for (const auto& one : out) EXPECT_LE(RelativeL2(one, expected), 1e-6);
}

// Distances beyond 2^31 elements and 2^32 bytes, between pages and between tokens. Only what is
// used costs memory.
TEST_P(AttentionTest, AddressesHugePools) {
  Scene small(With({6, 5, 3, 4, 2, 8}));
  const auto expected = small.Run(backend());
  const int64_t far = (int64_t{1} << 31) + 4096;
  const int64_t element = static_cast<int64_t>(SizeOf(small.view().dtype));
  for (const bool far_pages : {true, false}) {
    PagedKvView view = small.view();
    const std::vector<int32_t> pages = {2, 0, 1};
    view.pages = pages;
    view.page_stride = far_pages ? far : 512;
    view.token_stride = far_pages ? 32 : far / 3;
    LazyMemory memory((2 * view.page_stride + 5 * view.token_stride) * element);
    view.k = memory.data();
    view.v = memory.data() + 16 * element;
    for (int64_t i = 0; i < small.shape().kv_tokens(); ++i) {
      for (int64_t j = 0; j < 16; ++j) {
        const auto copy = [&](const void* from, const void* to) {
          WriteElement(const_cast<void*>(to), view.dtype, Offset(view, pages[i / 5], i % 5, 0) + j,
                       ReadElement(from, view.dtype,
                                   Offset(small.view(), small.pages()[i / 5], i % 5, 0) + j));
        };
        copy(small.view().k, view.k);
        copy(small.view().v, view.v);
      }
    }
    Context context(2, AttentionWorkspaceBytes(backend(), 2, 6, 14, 2, 8));
    std::vector<float> out(expected.size());
    PagedAttention(context, backend(), small.q(), view, kUnbounded,
                   TensorView(out.data(), DType::kF32, {6, 2, 8}));
    EXPECT_EQ(out, expected);
  }
}

class DenseAttentionTest : public testing::TestWithParam<AttentionBackend> {};

INSTANTIATE_TEST_SUITE_P(All, DenseAttentionTest, testing::ValuesIn(kBackends),
                         [](const auto& param) { return std::string(NameOf(param.param)); });

// q, k and v inside one tensor [tokens, 3, heads, head_dim], out with gaps, against contiguous
// copies in one page.
TEST_P(DenseAttentionTest, TakesStrides) {
  for (const int64_t tokens : {1, 3, 66, 131}) {
    const int64_t heads = 2, dim = 24, width = heads * dim;
    Scene scene({tokens, tokens, 1, tokens, heads, dim});
    std::vector<float> qkv(tokens * 3 * width, kNaN);
    const auto offset = Offset(scene.view(), scene.pages()[0], 0, 0);
    for (int64_t t = 0; t < tokens; ++t) {
      const auto copy = [&](const float* from, int64_t part) {
        std::copy_n(from + t * width, width, &qkv[(t * 3 + part) * width]);
      };
      copy(scene.q().data<float>(), 0);
      copy(static_cast<const float*>(scene.view().k) + offset, 1);
      copy(static_cast<const float*>(scene.view().v) + offset, 2);
    }
    const auto part = [&](int64_t index) {
      return TensorView(&qkv[index * width], DType::kF32, {tokens, heads, dim},
                        {3 * width, dim, 1});
    };
    std::vector<float> out(tokens * 2 * width, 5.0f);
    Context context(2, AttentionWorkspaceBytes(GetParam(), 2, tokens, tokens, heads, dim));
    DenseAttention(context, GetParam(), part(0), part(1), part(2),
                   TensorView(out.data(), DType::kF32, {tokens, heads, dim}, {2 * width, dim, 1}));
    EXPECT_EQ(LastAttentionBackend(context), GetParam());
    const auto expected = scene.Run(GetParam());
    for (int64_t t = 0; t < tokens; ++t) {
      EXPECT_TRUE(
          std::equal(&out[t * 2 * width], &out[t * 2 * width] + width, &expected[t * width]));
      EXPECT_EQ(std::count(&out[(t * 2 + 1) * width], &out[(t * 2 + 1) * width] + width, 5.0f),
                width);
    }
  }
}

TEST_P(DenseAttentionTest, TakesBFloat16AndHeadsFirst) {
  const int64_t tokens = 70, heads = 3, dim = 16;
  Scene scene({5, tokens, 1, tokens, heads, dim, DType::kBF16});
  const auto offset = Offset(scene.view(), scene.pages()[0], 0, 0);
  std::vector<BFloat16> kv(2 * tokens * heads * dim);  // [2, heads, tokens, head_dim]
  for (int64_t i = 0; i < tokens * heads * dim; ++i) {
    const int64_t to = (i / dim % heads * tokens + i / dim / heads) * dim + i % dim;
    kv[to] = static_cast<const BFloat16*>(scene.view().k)[offset + i];
    kv[tokens * heads * dim + to] = static_cast<const BFloat16*>(scene.view().v)[offset + i];
  }
  const auto part = [&](int64_t index) {
    return TensorView(&kv[index * tokens * heads * dim], DType::kBF16, {tokens, heads, dim},
                      {dim, tokens * dim, 1});
  };
  std::vector<float> out(5 * heads * dim);
  Context context(2, AttentionWorkspaceBytes(GetParam(), 2, 5, tokens, heads, dim));
  DenseAttention(context, GetParam(), scene.q(), part(0), part(1),
                 TensorView(out.data(), DType::kF32, {5, heads, dim}));
  EXPECT_EQ(out, scene.Run(GetParam()));
}

void ExpectInternal(auto&& body) {
  try {
    body();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal) << error.what();
  }
}

TEST_P(DenseAttentionTest, RejectsWhatDoesNotFit) {
  Context context(1, 1 << 24);
  std::vector<float> memory(4096);
  const auto floats = [&](const Shape& shape) {
    return TensorView(memory.data(), DType::kF32, shape);
  };
  const auto run = [&](const TensorView& q, const TensorView& k, const TensorView& v,
                       const TensorView& out) {
    ExpectInternal([&] { DenseAttention(context, GetParam(), q, k, v, out); });
  };
  const TensorView good = floats({2, 3, 8});
  run(floats({2, 3, 7}), floats({2, 3, 7}), floats({2, 3, 7}), floats({2, 3, 7}));
  run(floats({2, 3, 264}), floats({2, 3, 264}), floats({2, 3, 264}), floats({2, 3, 264}));
  run(floats({2, 24}), good, good, good);
  run(good, floats({2, 2, 8}), floats({2, 2, 8}), good);
  run(good, floats({2, 3, 16}), floats({2, 3, 16}), good);
  run(good, good, floats({3, 3, 8}), good);
  run(good, floats({0, 3, 8}), floats({0, 3, 8}), good);
  run(good, good, good, floats({3, 3, 8}));
  run(good, good, TensorView(memory.data(), DType::kBF16, {2, 3, 8}), good);
  run(good, TensorView(memory.data(), DType::kI32, {2, 3, 8}),
      TensorView(memory.data(), DType::kI32, {2, 3, 8}), good);
  run(TensorView(memory.data(), DType::kBF16, {2, 3, 8}), good, good, good);
  run(TensorView(memory.data(), DType::kF32, {2, 3, 8}, {24, 1, 3}), good, good, good);
  run(TensorView(nullptr, DType::kF32, {2, 3, 8}), good, good, good);
}

TEST_P(DenseAttentionTest, RejectsBrokenPageTables) {
  Context context(1, 1 << 24);
  Scene scene({5, 10, 2, 4, 1, 8});
  std::vector<float> out(40);
  const auto run = [&](const PagedKvView& view) {
    ExpectInternal([&] {
      PagedAttention(context, GetParam(), scene.q(), view, kUnbounded,
                     TensorView(out.data(), DType::kF32, {5, 1, 8}));
    });
  };
  const auto with = [&](auto&& change) {
    PagedKvView view = scene.view();
    change(view);
    run(view);
  };
  const std::vector<int32_t> negative = {0, -1};
  with([](PagedKvView& view) { view.pages = {}; });
  with([](PagedKvView& view) { view.last_page_len = 0; });
  with([](PagedKvView& view) { view.last_page_len = 11; });
  with([](PagedKvView& view) { view.last_page_len = -3; });
  with([](PagedKvView& view) { view.page_size = 0; });
  with([](PagedKvView& view) { view.dtype = DType::kF16; });
  with([](PagedKvView& view) { view.k = nullptr; });
  with([&](PagedKvView& view) { view.pages = negative; });
}

TEST(AttentionBackends, HaveNames) {
  EXPECT_EQ(ResolveAttentionBackend(AttentionBackend::kAuto), AttentionBackend::kCpu);
  EXPECT_STREQ(NameOf(AttentionBackend::kAuto), "auto");
  for (const AttentionBackend backend : kBackends) {
    EXPECT_EQ(ResolveAttentionBackend(backend), backend);
  }
  Scene scene({5, 10, 2, 4, 1, 8});
  scene.Run(AttentionBackend::kAuto);
}

TEST(AttentionBackends, NoTokensIsNoWork) {
  for (const AttentionBackend backend : kBackends) {
    Scene scene({0, 10, 2, 4, 1, 8});
    Context context(2, AttentionWorkspaceBytes(backend, 2, 0, 14, 1, 8));
    float nothing;
    const TensorView empty(&nothing, DType::kF32, {0, 1, 8});
    PagedAttention(context, backend, empty, scene.view(), kUnbounded, empty);
  }
}

#if HWY_MAJOR >= 1
// The kernels of every instruction set that was compiled and that this processor has.
TEST(AttentionTargets, AllMatchTheDefinition) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  };
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (Case c : {Case{61, 130, 2, 7, 2, 40}, Case{114, 70, 3, 70, 1, 64},
                     Case{2, 70, 3, 5, 3, 24}, Case{1, 70, 3, 5, 3, 128}}) {
        c.dtype = dtype;
        Scene scene(c);
        EXPECT_LE(RelativeL2(scene.Run(AttentionBackend::kCpu), scene.Expected()), 1e-6)
            << hwy::TargetName(target) << ": " << c.Name();
        std::fill_n(scene.q().data<float>(), c.heads * c.head_dim, kNaN);
        const auto out = scene.Run(AttentionBackend::kCpu);
        EXPECT_EQ(std::ranges::count_if(out, [](float x) { return x != x; }), c.heads * c.head_dim)
            << hwy::TargetName(target) << ": " << c.Name();
      }
    }
    choose(0);
  }
}
#endif

}  // namespace
}  // namespace lingbot::ops
