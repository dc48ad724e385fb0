#include "bench/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lingbot {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::IsEmpty;

TEST(Quantile, IsTheNearestRank) {
  EXPECT_EQ(Quantile({}, 0.5), 0.0);
  EXPECT_EQ(Quantile({3.0}, 0.0), 3.0);
  EXPECT_EQ(Quantile({3.0}, 1.0), 3.0);
  EXPECT_EQ(Quantile({4.0, 1.0, 3.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(Quantile({4.0, 1.0, 3.0, 2.0}, 0.99), 4.0);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(Quantile(hundred, 0.5), 50.0);
  EXPECT_EQ(Quantile(hundred, 0.99), 99.0);
}

TEST(MarkedRanges, EndAtTheMarksAndAtTheEnd) {
  EXPECT_THAT(
      MarkedRanges(3000, 8),
      ElementsAre(FieldsAre(8, 50), FieldsAre(50, 100), FieldsAre(100, 200), FieldsAre(400, 500),
                  FieldsAre(900, 1000), FieldsAre(1900, 2000), FieldsAre(2900, 3000)));
  EXPECT_THAT(MarkedRanges(5000, 8).back(), FieldsAre(4900, 5000));
  EXPECT_THAT(MarkedRanges(20'000, 8).back(), FieldsAre(19'900, 20'000));
}

TEST(MarkedRanges, CountNoFrameTwice) {
  EXPECT_THAT(MarkedRanges(501, 3).back(), FieldsAre(500, 501));
  EXPECT_THAT(MarkedRanges(24, 3), ElementsAre(FieldsAre(3, 24)));
  EXPECT_THAT(MarkedRanges(120, 64), ElementsAre(FieldsAre(64, 100), FieldsAre(100, 120)));
}

TEST(MarkedRanges, AreNoneWithoutStreamedFrames) {
  EXPECT_THAT(MarkedRanges(8, 8), IsEmpty());
  EXPECT_THAT(MarkedRanges(3, 8), IsEmpty());
}

TEST(BitHash, SeesBitsAndOrder) {
  const auto hash = [](std::vector<float> values) {
    BitHash result;
    result.Add(values);
    return result.value();
  };
  EXPECT_EQ(hash({}), 0xCBF29CE484222325u);
  EXPECT_EQ(hash({1.0f, 2.0f}), hash({1.0f, 2.0f}));
  EXPECT_NE(hash({1.0f, 2.0f}), hash({2.0f, 1.0f}));
  EXPECT_NE(hash({0.0f}), hash({-0.0f}));
  EXPECT_NE(hash({1.0f}), hash({1.0f + std::numeric_limits<float>::epsilon()}));
}

TEST(BitHash, DoesNotDependOnHowTheNumbersArrive) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  BitHash whole;
  whole.Add(values);
  BitHash parts;
  parts.Add(std::span(values).first(1));
  parts.Add(std::span(values).subspan(1));
  EXPECT_EQ(whole.value(), parts.value());
}

TEST(LinearOperations, CountEveryProduct) {
  ModelInfo model;
  model.embed_dim = 8;
  model.patch_size = 2;
  model.mlp_ratio = 4;
  model.vit_depth = 3;
  model.depth = 2;
  // A block row: qkv 8*24 + proj 8*8 + fc1 8*32 + fc2 32*8 = 768 multiply-adds. The encoder has
  // 6 + 5 rows in 3 blocks, the others 6 + 6 rows in 4 blocks; a patch has 12 numbers.
  const double multiply_adds = 6 * 12 * 8 + 768.0 * (3 * 11 + 4 * 12);
  EXPECT_EQ(LinearOperations(model, PatchGrid{2, 3, 6}), 2 * multiply_adds);
}

}  // namespace
}  // namespace lingbot
